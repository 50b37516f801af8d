import type { Decision } from "headgate";
import { floatText, roundedText } from "./number-text.ts";
import { stringText } from "./string-text.ts";

/** Formats a decision as one line of JSON, with the fields and the order documented in docs/guide/command-line.md. */
export function decisionLine(user: string, time: number, { allowed, remaining, retryAfterMs }: Decision): string {
  const request = `{"user": ${stringText(user)}, "time": ${floatText(time)}`;
  if (allowed) return `${request}, "decision": "ALLOW", "remaining": ${roundedText(remaining)}}\n`;
  return `${request}, "decision": "DENY", "remaining": ${roundedText(remaining)}, "retry_after": ${secondsText(retryAfterMs)}}\n`;
}

function secondsText(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return "null";
  // Rounds to whole microseconds first, so that the result is the double nearest to the true value: ties depend on it.
  return roundedText(Math.round(ms * 1000) / 1_000_000);
}
