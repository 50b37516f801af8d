import { isIP } from "node:net";
import { availableParallelism } from "node:os";
import { HeadgateError, type Rate } from "headgate";
import { parseRedisAddress } from "headgate/redis-address";
import type { Address, LogFormat } from "./settings.ts";

/** Parses a value. `at` is how the user named the setting. */
export type Parse<T> = (text: string, at: string) => T;

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

export const LOG_FORMATS = ["auto", "json", "text"] as const;

const LOOPBACK = "127.0.0.1";
const UNIX = "unix:";

/** `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`; a port alone means loopback. */
export function address(text: string, at: string): Address {
  const parts = /^(?:\[([^\]]+)\]:|([^:\s]+):|)(\d{1,5})$/.exec(text);
  const port = Number(parts?.[3]);
  if (parts === null || port > 65_535)
    throw invalidValue(at, `must be an address and a port such as ${LOOPBACK}:8080`, text);
  const [, v6, host = v6 ?? LOOPBACK] = parts;
  if (v6 !== undefined && isIP(v6) !== 6)
    throw invalidValue(at, "must have an IPv6 address between the brackets", text);
  return { host, port };
}

export function addressOrOff(text: string, at: string): Address | undefined {
  return text === "off" ? undefined : address(text, at);
}

/** `unix:/run/headgate.sock`, or an address and a port. */
export function socketOrOff(text: string, at: string): Address | undefined {
  if (!text.startsWith(UNIX)) return addressOrOff(text, at);
  const path = text.slice(UNIX.length);
  if (path === "") throw invalidValue(at, "must have a path, as in unix:/run/headgate/envoy.sock", text);
  return { host: "", port: 0, path };
}

export function addressText(value: Address | undefined): string {
  if (value === undefined) return "off";
  if (value.path !== undefined) return `${UNIX}${value.path}`;
  return isIP(value.host) === 6 ? `[${value.host}]:${value.port}` : `${value.host}:${value.port}`;
}

export function path(text: string): string {
  return text;
}

export function text(value: string): string {
  return value;
}

/** A URL with one of these schemes. Errors do not quote it, since it may contain a password. */
export function url(...schemes: readonly string[]): Parse<string> {
  return (text, at) => {
    const parsed = URL.canParse(text) ? new URL(text) : undefined;
    if (parsed === undefined || !schemes.includes(parsed.protocol.slice(0, -1)) || parsed.hostname === "") {
      throw new HeadgateError("HG_BAD_OPTION", at, `must be a URL such as ${schemes[0]}://user:password@host`);
    }
    return text;
  };
}

/** One server, a cluster or sentinels. Errors do not quote it, since it may contain a password. */
export function redisUrl(text: string, at: string): string {
  parseRedisAddress(text, at);
  return text;
}

/** `host:port,host:port`. */
export function hosts(text: string, at: string): string {
  for (const host of text.split(",")) {
    if (!/^[^\s:/]+(:\d{1,5})?$/.test(host))
      throw invalidValue(at, "must be a list of hosts such as 10.0.0.1:2181,10.0.0.2:2181", text);
  }
  return text;
}

export function isOn(text: string, at: string): boolean {
  if (["true", "1", "yes", "on"].includes(text)) return true;
  if (["false", "0", "no", "off"].includes(text)) return false;
  throw invalidValue(at, "must be true or false", text);
}

/** One of a few names. */
export function oneOf<const Name extends string>(names: readonly Name[]): Parse<Name> {
  return (text, at) => {
    const found = names.find((name) => name === text);
    if (found === undefined) throw invalidValue(at, `must be one of ${names.join(", ")}`, text);
    return found;
  };
}

export function logLevel(text: string, at: string): string {
  if (LOG_LEVELS.some((level) => level === text)) return text;
  throw invalidValue(at, `must be one of ${LOG_LEVELS.join(", ")}`, text);
}

export function logFormat(text: string, at: string): LogFormat {
  const found = LOG_FORMATS.find((format) => format === text);
  if (found === undefined) throw invalidValue(at, `must be one of ${LOG_FORMATS.join(", ")}`, text);
  return found;
}

export function count(text: string, at: string): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value < 1) throw invalidValue(at, "must be a whole number, at least 1", text);
  return value;
}

/** Parses a part of a whole: at least 0 and below 1. */
export function share(text: string, at: string): number {
  const value = /^0?(\.\d+)?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
  if (!(value < 1)) throw invalidValue(at, "must be a number from 0 to below 1, such as 0.2", text);
  return value;
}

/** More processes than this do not help on any machine, and each takes memory. */
const MOST_WORKERS = 256;

/** A number of processes, or `auto` for one per CPU that this process may use. */
export function workers(text: string, at: string): number {
  if (text === "auto") return availableParallelism();
  const value = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > MOST_WORKERS) {
    throw invalidValue(at, `must be a whole number from 1 to ${MOST_WORKERS}, or auto`, text);
  }
  return value;
}

/** Parses seconds to milliseconds. */
export function seconds(text: string, at: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (value <= 0 || value > 1e9) throw invalidValue(at, "must be a number of seconds greater than 0", text);
  return value * 1000;
}

/** Longer timeouts have no effect, because a silent connection is closed anyway. */
const LONGEST_CALL_MS = 1_000;

/** `250ms`, `0.25s`, or `250`, which means milliseconds. */
export function milliseconds(text: string, at: string): number {
  const parts = /^(\d+(?:\.\d+)?)(ms|s)?$/.exec(text);
  const value = parts === null ? 0 : Number(parts[1]) * (parts[2] === "s" ? 1000 : 1);
  if (value < 1 || value > LONGEST_CALL_MS) throw invalidValue(at, `must be from 1ms to ${LONGEST_CALL_MS}ms`, text);
  return value;
}

/** `1000/m`: a number per second, minute, hour or day. */
export function rate(text: string, at: string): Rate {
  const [, count, unit] = /^([1-9]\d{0,8})\/(s|m|h|d)$/.exec(text) ?? [];
  if (unit !== "s" && unit !== "m" && unit !== "h" && unit !== "d") {
    throw invalidValue(at, "must be a rate such as 1000/m, with the unit s, m, h or d", text);
  }
  return `${Number(count)}/${unit}`;
}

const UNITS_MS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 } as const;

/** `90d`, `1h`, `30m` or `15s`, within bounds. */
export function duration(least: string, most: string): Parse<number> {
  const bounds = [durationMs(least) ?? 0, durationMs(most) ?? 0];
  return (text, at) => {
    const value = durationMs(text) ?? -1;
    if (value < bounds[0] || value > bounds[1])
      throw invalidValue(at, `must be a duration from ${least} to ${most}, such as 1h`, text);
    return value;
  };
}

/** A duration, or `off`. */
export function durationOrOff(least: string, most: string): Parse<number | "off"> {
  const parse = duration(least, most);
  return (text, at) => (text === "off" ? text : parse(text, at));
}

/** Uses the largest unit that divides the duration. */
export function durationText(ms: number | "off"): string {
  if (ms === "off") return ms;
  const [unit, length] = Object.entries(UNITS_MS).find(([, length]) => ms % length === 0 && ms > 0) ?? [
    "s",
    UNITS_MS.s,
  ];
  return `${ms / length}${unit}`;
}

function durationMs(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})([dhms])$/.exec(text) ?? [];
  if (unit === undefined) return text === "0" ? 0 : undefined;
  return Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS];
}

function invalidValue(at: string, problem: string, value: string): HeadgateError {
  return new HeadgateError("HG_BAD_OPTION", at, `${problem}, got ${JSON.stringify(value)}`);
}
