import { doctor } from "headgate-server";
import { type ExitCode, exitCodes } from "../failure.ts";
import { type SettingOptions, settingsOf } from "../settings/settings-of-flags.ts";

/** `headgate doctor`: prints one line per check. */
export async function examine(options: SettingOptions): Promise<ExitCode> {
  const { settings } = await settingsOf(options);
  const findings = await doctor(settings);
  const width = Math.max(...findings.map(({ about }) => about.length));
  const lines = findings.map(({ about, level, message }) => `${level.padEnd(4)}  ${about.padEnd(width)}  ${message}\n`);
  process.stdout.write(lines.join(""));
  return findings.some(({ level }) => level === "fail") ? exitCodes.invalid : exitCodes.done;
}
