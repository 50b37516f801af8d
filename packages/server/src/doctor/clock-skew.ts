import { type Finding, ok, warn } from "./finding.ts";

/** With more than this, logs of two machines cannot be correlated. */
const MOST_SKEW_MS = 500;

/** Compares a server's clock with the local one, which was read before and after the call. */
export function clockSkew(about: string, theirs: number, sent: number, answered: number): Finding {
  const skew = Math.round(theirs - (sent + answered) / 2);
  const unsure = Math.ceil((answered - sent) / 2);
  if (Math.abs(skew) <= MOST_SKEW_MS + unsure) return ok(about, `${Math.abs(skew)} ms apart`);
  const direction = skew > 0 ? "ahead of" : "behind";
  return warn(about, `its clock is ${Math.abs(skew)} ms ${direction} this machine's: synchronize both with NTP`);
}
