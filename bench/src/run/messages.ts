import type { Figures } from "../suite.ts";

/** The reply of a child process. */
export type Answer =
  | { readonly ok: true; readonly figures: Figures }
  | { readonly ok: false; readonly message: string };

export function isAnswer(value: unknown): value is Answer {
  return typeof value === "object" && value !== null && "ok" in value && typeof value.ok === "boolean";
}
