import { HeadgateError, shown } from "../../errors.ts";

/**
 * Who is in the place where a framework keeps its authenticated user: a name or number, or an object that has one
 * as `id` (as Passport's users do) or `sub` (as tokens do). Nobody, if nothing is there.
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
