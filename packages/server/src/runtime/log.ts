import { parseRedisAddress } from "headgate/redis";
import { type Logger, pino } from "pino";
import type { Settings } from "../config/settings.ts";
import { FileOutput, type LogOutput, StreamOutput } from "./log-output.ts";
import { logText } from "./log-text.ts";

export type Log = Logger;

/** Shorter than this, a secret would be found in many an innocent word. */
const SHORTEST_SECRET = 6;

/** The log of a process, and where its lines go. */
export interface OpenLog {
  readonly log: Log;
  readonly output: LogOutput;
}

/** Opens the log on standard error, or in the file of the settings. */
export function openLog(settings: Settings): OpenLog {
  const { logFile, logFormat } = settings;
  const output = logFile === undefined ? new StreamOutput(process.stderr) : new FileOutput(logFile);
  const isText = logFormat === "auto" ? output.isTerminal : logFormat === "text";
  const { NO_COLOR } = process.env;
  const withColours = output.isTerminal && !NO_COLOR;
  const log = makeLog(settings, (line) => output.write(isText ? logText(line, withColours) : line));
  return { log, output };
}

/** Lines of JSON. What the settings keep secret is not in them, whatever an error quotes. */
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
      // Who reads logs should not need to know the numbers of levels.
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
  // In a URL a password is escaped; an error may quote it either way.
  const all = written.flatMap((secret) => [secret, unescaped(secret), encodeURIComponent(secret)]);
  // As JSON writes them.
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
