import type { Decision } from "headgate";
import { floatText, roundedText } from "./number-text.ts";
import { stringText } from "./string-text.ts";

/** A decision as one line of JSON, in the fields and the order that docs/guide/command-line.md promises. */
export function decisionLine(user: string, time: number, { allowed, remaining, retryAfterMs }: Decision): string {
  const request = `{"user": ${stringText(user)}, "time": ${floatText(time)}`;
  if (allowed) return `${request}, "decision": "ALLOW", "remaining": ${roundedText(remaining)}}\n`;
  return `${request}, "decision": "DENY", "remaining": ${roundedText(remaining)}, "retry_after": ${secondsText(retryAfterMs)}}\n`;
}

function secondsText(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return "null";
  // Through whole microseconds, so that the seconds are the double nearest to the true value: ties depend on it.
  return roundedText(Math.round(ms * 1000) / 1_000_000);
}
