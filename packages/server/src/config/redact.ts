const HIDDEN = "***";

/** A URL without its password and query, which may contain secrets. */
export function redactUrl(text: string): string {
  // Not with the URL parser alone, because text that cannot be parsed may still contain a password.
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
