/** The result of one check. */
export interface Finding {
  readonly about: string;
  readonly level: "ok" | "warn" | "fail";
  /** The state and, if there is a problem, what to do. */
  readonly message: string;
}

export function ok(about: string, message: string): Finding {
  return { about, level: "ok", message };
}

export function warn(about: string, message: string): Finding {
  return { about, level: "warn", message };
}

export function fail(about: string, message: string): Finding {
  return { about, level: "fail", message };
}

export function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
