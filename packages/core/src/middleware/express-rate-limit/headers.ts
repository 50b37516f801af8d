import { createHash } from "node:crypto";
import type { Response } from "express";
import type { RateLimitInfo } from "./compatible-types.ts";

/** Sets the headers exactly like express-rate-limit. */
export function setLegacyHeaders(response: Response, { limit, remaining, resetTime }: RateLimitInfo): void {
  response.setHeader("X-RateLimit-Limit", String(limit));
  response.setHeader("X-RateLimit-Remaining", String(remaining));
  if (resetTime !== undefined) {
    response.setHeader("X-RateLimit-Reset", String(Math.ceil(resetTime.getTime() / 1000)));
  }
}

export function setDraft6Headers(response: Response, info: RateLimitInfo, windowMs: number, now: number): void {
  setQuota(response, info, windowMs);
  response.setHeader("RateLimit-Limit", String(info.limit));
  response.setHeader("RateLimit-Remaining", String(info.remaining));
  response.setHeader("RateLimit-Reset", String(resetSeconds(info, windowMs, now)));
}

export function setDraft7Headers(response: Response, info: RateLimitInfo, windowMs: number, now: number): void {
  setQuota(response, info, windowMs);
  const { limit, remaining } = info;
  response.setHeader("RateLimit", `limit=${limit}, remaining=${remaining}, reset=${resetSeconds(info, windowMs, now)}`);
}

export function setDraft8Headers(
  response: Response,
  info: RateLimitInfo,
  windowMs: number,
  now: number,
  name: string,
): void {
  const { limit, remaining, key } = info;
  response.append("RateLimit", `"${name}"; r=${remaining}; t=${resetSeconds(info, windowMs, now)}`);
  response.append("RateLimit-Policy", `"${name}"; q=${limit}; w=${seconds(windowMs)}; pk=:${partitionKey(key)}:`);
}

/** Seconds until the window ends, by the clock of its reset time; a whole window if the store does not report it. */
export function resetSeconds({ resetTime }: RateLimitInfo, windowMs: number, now: number): number {
  return resetTime === undefined ? seconds(windowMs) : Math.max(0, seconds(resetTime.getTime() - now));
}

/** The default name of a limit: `100-in-15min`. */
export function defaultIdentifier(limit: number, windowMs: number): string {
  const [unit, length] = unitOf(windowMs);
  const count = windowMs / length;
  const plural = count > 1 && (unit === "hr" || unit === "day") ? "s" : "";
  return `${limit}-in-${count}${unit}${plural}`;
}

const UNITS: readonly [string, number][] = [
  ["sec", 1_000],
  ["min", 60_000],
  ["hr", 3_600_000],
  ["day", 86_400_000],
];

/** The largest unit that fits into the window. */
function unitOf(windowMs: number): readonly [string, number] {
  return UNITS.findLast(([, length]) => windowMs >= length) ?? UNITS[0];
}

function setQuota(response: Response, { limit }: RateLimitInfo, windowMs: number): void {
  response.setHeader("RateLimit-Policy", `${limit};w=${seconds(windowMs)}`);
}

/** Distinguishes the quotas of clients without revealing their identity. */
function partitionKey(key: string): string {
  return Buffer.from(createHash("sha256").update(key).digest("hex").slice(0, 12)).toString("base64");
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
