import { parseRedisAddress } from "headgate/redis-address";
import { type Logger, pino } from "pino";
import type { Settings } from "../config/settings.ts";
import { FileOutput, type LogOutput, StreamOutput } from "./log-output.ts";
import { logText } from "./log-text.ts";

export type Log = Logger;

/** A shorter secret would match parts of ordinary words. */
const SHORTEST_SECRET = 6;

/** The log of a process, and its destination. */
export interface OpenLog {
  readonly log: Log;
  readonly output: LogOutput;
}

/** Opens the log on standard error, or in the file from the settings. */
export function openLog(settings: Settings): OpenLog {
  const { logFile, logFormat } = settings;
  const output = logFile === undefined ? new StreamOutput(process.stderr) : new FileOutput(logFile);
  const isText = logFormat === "auto" ? output.isTerminal : logFormat === "text";
  const { NO_COLOR } = process.env;
  const withColours = output.isTerminal && !NO_COLOR;
  const log = makeLog(settings, (line) => output.write(isText ? logText(line, withColours) : line));
  return { log, output };
}

/** Writes JSON lines. Secrets from the settings are removed, even if an error quotes them. */
export function makeLog(
  settings: Pick<Settings, "logLevel" | "adminKey" | "redis" | "postgres">,
  write: (line: string) => void,
): Log {
  const secrets = secretsOf(settings);
  const hide = (line: string): string => secrets.reduce((text, secret) => text.replaceAll(secret, "***"), line);
  return pino(
    {
      name: "headgate",
      level: settings.logLevel,
      // Level names instead of numbers.
      formatters: { level: (level) => ({ level }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    { write: (line: string) => write(hide(line)) },
  );
}

const NO_PASSWORDS = { password: undefined, sentinelPassword: undefined };

function secretsOf({ adminKey, redis, postgres }: Parameters<typeof makeLog>[0]): string[] {
  const { password, sentinelPassword } = redis === undefined ? NO_PASSWORDS : parseRedisAddress(redis);
  const written = [adminKey, password, sentinelPassword, passwordIn(postgres)].filter((secret) => secret !== undefined);
  // Passwords are escaped in URLs; an error may quote either form.
  const all = written.flatMap((secret) => [secret, unescaped(secret), encodeURIComponent(secret)]);
  // Escaped as in JSON.
  return [...new Set(all)].filter(({ length }) => length >= SHORTEST_SECRET).map((s) => JSON.stringify(s).slice(1, -1));
}

function passwordIn(url: string | undefined): string | undefined {
  return url === undefined || !URL.canParse(url) ? undefined : new URL(url).password;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
