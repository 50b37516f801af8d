import type { Decision } from "headgate";
import { floatText, roundedText } from "./number-text.ts";
import { stringText } from "./string-text.ts";

/** Formats a decision as one line of JSON, with the fields and the order documented in docs/guide/command-line.md. */
export function decisionLine(user: string, time: number, decision: Decision): string {
  const { allowed, remaining, retryAfterMs } = decision;
  const request = `{"user": ${stringText(user)}, "time": ${floatText(time)}`;
  const quota = `"decision": "${allowed ? "ALLOW" : "DENY"}", "remaining": ${roundedText(remaining)}`;
  return `${request}, ${quota}${allowed ? queueText(decision) : `, "retry_after": ${secondsText(retryAfterMs)}`}}\n`;
}

/** Only admitted requests of a queue have a position. */
function queueText({ queuePosition, delayMs }: Decision): string {
  if (queuePosition === 0) return "";
  return `, "queue_position": ${roundedText(queuePosition)}, "delay_ms": ${roundedText(delayMs)}`;
}

function secondsText(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return "null";
  // Rounds to whole microseconds first, so that the result is the double nearest to the true value: ties depend on it.
  return roundedText(Math.round(ms * 1000) / 1_000_000);
}
