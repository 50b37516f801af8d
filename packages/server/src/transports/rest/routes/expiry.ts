import { fieldProblem } from "../problem.ts";

/** When something ends, as an ISO time in UTC; null if neither a time nor a duration is given. */
export function endOf(
  {
    expires_at,
    duration_seconds,
  }: { readonly expires_at?: string | undefined; readonly duration_seconds?: number | undefined },
  now: number,
): string | null {
  if (duration_seconds !== undefined) return new Date(now + duration_seconds * 1000).toISOString();
  if (expires_at === undefined) return null;
  if (!(Date.parse(expires_at) > now)) throw fieldProblem("body", "expires_at", "must be in the future");
  return new Date(expires_at).toISOString();
}
