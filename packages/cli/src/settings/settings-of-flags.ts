import { type ReadSettings, readSettings } from "headgate-server";
import { FileNotFound } from "../failure.ts";

/** Options of a command as commander provides them: by their names in camelCase. */
export type SettingOptions = Readonly<Record<string, string | true | undefined>>;

/** The settings from flags, environment and file combined. */
export async function settingsOf(options: SettingOptions): Promise<ReadSettings> {
  const flags = Object.fromEntries(Object.entries(options).map(([name, value]) => [flagName(name), value]));
  try {
    return await readSettings({ flags, env: process.env });
  } catch (error) {
    throw asMissingFile(error);
  }
}

/** Gives a missing file its own exit code, however deep in the call it was noticed. */
export function asMissingFile(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (isMissing(error)) return new FileNotFound(`${error.path}: no such file`, { cause: error });
  return isMissing(error.cause) ? new FileNotFound(error.message, { cause: error }) : error;
}

function isMissing(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && error.code === "ENOENT" && "path" in error;
}

function flagName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
