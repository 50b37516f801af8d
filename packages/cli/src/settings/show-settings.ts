import { type ExitCode, exitCodes } from "../failure.ts";
import { type SettingOptions, settingsOf } from "./settings-of-flags.ts";

/** `headgate config`: prints the effective settings as a settings file, with the origin of each line. */
export async function showSettings(options: SettingOptions): Promise<ExitCode> {
  const { shown } = await settingsOf(options);
  const lines = shown.map(({ name, value, from }) => ({
    text: `${name}:${value === undefined ? "" : ` ${quoted(value)}`}`,
    from,
  }));
  const width = Math.max(...lines.map(({ text }) => text.length));
  process.stdout.write(lines.map(({ text, from }) => `${text.padEnd(width)}  # ${from}\n`).join(""));
  return exitCodes.done;
}

/** Quotes text that YAML would read as another type. Lists are written as lists. */
function quoted(value: string): string {
  return /^[\w./][\w./:@?&=,+-]*$/.test(value) || (/^\[.*\]$/.test(value) && !value.includes("::"))
    ? value
    : JSON.stringify(value);
}
