import { type ExitCode, exitCodes } from "../failure.ts";
import { type SettingOptions, settingsOf } from "./settings.ts";

/** `headgate config`: what a node would be set up with, as a file that says so, and where each line comes from. */
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

/** YAML would take some texts for something else. A list is written as one. */
function quoted(value: string): string {
  return /^[\w./][\w./:@?&=,+-]*$/.test(value) || (/^\[.*\]$/.test(value) && !value.includes("::"))
    ? value
    : JSON.stringify(value);
}
