import { HeadgateError } from "headgate";

/** A URL for messages: without the password, and without parameters, which may contain secrets too. */
export function shownUrl(url: string): string {
  let parts: URL;
  try {
    parts = new URL(url);
  } catch {
    // Without the cause, because it contains the URL and so the password.
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
