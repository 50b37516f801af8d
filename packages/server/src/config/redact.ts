const HIDDEN = "***";

/** A URL that may be shown: whoever it names, his password is not told, nor what a query may hold of secrets. */
export function redactUrl(text: string): string {
  // Not through URL alone: what cannot be parsed may hold a password all the same.
  return text
    .replace(/^([^:/?#]+:\/\/)([^/?#]*)@/, (_all, scheme: string, user: string) => `${scheme}${withoutPassword(user)}@`)
    .replace(/([?&](?:password|pass|auth|token|sslpassword)=)[^&#]*/gi, `$1${HIDDEN}`);
}

export function redactSecret(): string {
  return HIDDEN;
}

function withoutPassword(user: string): string {
  const colon = user.indexOf(":");
  return colon < 0 ? user : `${user.slice(0, colon)}:${HIDDEN}`;
}
