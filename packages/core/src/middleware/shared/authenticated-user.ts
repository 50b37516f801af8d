import { HeadgateError, shown } from "../../errors.ts";

/**
 * The id of the authenticated user: a string or number, or the `id` (Passport) or `sub` (tokens) of an object.
 * Undefined if there is none.
 */
export function userId(user: unknown): string | undefined {
  if (user === undefined || user === null) return undefined;
  const id = isId(user) ? user : (named(user, "id") ?? named(user, "sub"));
  if (id !== undefined) return String(id);
  throw new HeadgateError(
    "HG_BAD_KEY",
    "by",
    `"user" needs a user that is a string or a number, or has such an id or sub, got ${shown(user)}: use a function`,
  );
}

function named(user: unknown, field: string): string | number | bigint | undefined {
  const id: unknown = typeof user === "object" && user !== null ? Reflect.get(user, field) : undefined;
  return isId(id) ? id : undefined;
}

function isId(id: unknown): id is string | number | bigint {
  return typeof id === "string" || typeof id === "number" || typeof id === "bigint";
}
