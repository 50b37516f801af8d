import { HeadgateError } from "headgate";

/** Where a URL leads, as a message may show it: without the user's password, and without parameters, which may be secret too. */
export function shownUrl(url: string): string {
  let parts: URL;
  try {
    parts = new URL(url);
  } catch {
    // Not with the cause: it has the URL in it, and in that the password.
    throw notAUrl();
  }
  if (parts.protocol !== "postgres:" && parts.protocol !== "postgresql:") throw notAUrl();
  const { protocol, username, host, pathname } = parts;
  return `${protocol}//${username && `${username}@`}${host}${pathname}`;
}

function notAUrl(): HeadgateError {
  return new HeadgateError(
    "HG_BAD_OPTION",
    "postgres",
    "must be a URL such as postgres://user:password@host:5432/name",
  );
}
