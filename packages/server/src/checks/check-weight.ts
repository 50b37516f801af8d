/** Parsing this many characters of a path takes at most about as long as a check. */
const CHARACTERS_PER_CHECK = 256;

/** How many ordinary checks a check of this endpoint counts as in the limit on checks. */
export function weightOf(endpoint: string): number {
  if (endpoint.length <= CHARACTERS_PER_CHECK) return 1;
  const query = endpoint.indexOf("?");
  const length = query < 0 ? endpoint.length : query;
  return Math.max(1, Math.ceil(length / CHARACTERS_PER_CHECK));
}
