import { HeadgateError, shown } from "../errors.ts";
import { after, each, type MaybePromise } from "../limiter/maybe-promise.ts";
import { requireOptions } from "../options.ts";
import type { ClientAddress } from "./address/client-address.ts";
import type { Notices } from "./notices.ts";
import type { RequestAdapter } from "./request-adapter.ts";

/**
 * Whose quota is charged: the client's address, the authenticated user, a header such as an API key, or the result of a
 * function.
 */
type KeyPart<Request> =
  | "ip"
  | "user"
  | { readonly header: string }
  | ((request: Request) => MaybePromise<string | undefined>);

/**
 * Whose quota is charged: one key, or several combined, such as `["ip", (request) => request.body.name]`. If a request
 * has no such user, header or value, its address is used instead.
 */
export type By<Request> = KeyPart<Request> | readonly KeyPart<Request>[];

/** Returns the key that a request is charged to. */
export type Identify<Request> = (request: Request) => MaybePromise<string>;

const HEADER_OPTIONS: ReadonlySet<string> = new Set(["header"]);
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Reads the option `by`. A key of several parts is a JSON array, so different lists cannot produce the same key. */
export function requireBy<Request>(
  by: By<Request>,
  adapter: RequestAdapter<Request>,
  address: ClientAddress<Request>,
  notices: Notices,
  field: string,
): Identify<Request> {
  if (!isList(by)) return requirePart(by, adapter, address, notices, field);
  if (by.length === 0) throw new HeadgateError("HG_BAD_OPTION", field, "must have at least one part");
  const parts = by.map((part, i) => requirePart(part, adapter, address, notices, `${field}[${i}]`));
  return (request) =>
    after(
      each(parts, (identify) => identify(request)),
      (keys) => JSON.stringify(keys),
    );
}

/** `Array.isArray` does not narrow readonly arrays. */
function isList<Request>(by: By<Request>): by is readonly KeyPart<Request>[] {
  return Array.isArray(by);
}

/**
 * Reads one part. Keys have a prefix (`ip:…`, `user:…`, `header:…`, `id:…`), so that a client cannot use another's quota
 * by choosing an address as its name.
 */
function requirePart<Request>(
  by: KeyPart<Request>,
  adapter: RequestAdapter<Request>,
  address: ClientAddress<Request>,
  notices: Notices,
  field: string,
): Identify<Request> {
  // Most clients send several requests in a row.
  let latest: string | undefined;
  let latestKey = "ip:unknown";
  const byAddress = (request: Request): string => {
    const client = address.of(request);
    if (client === undefined) notices.give("HG_NO_CLIENT_ADDRESS", "a request has no client address");
    if (client !== latest) {
      latest = client;
      latestKey = `ip:${client ?? "unknown"}`;
    }
    return latestKey;
  };
  const named = (prefix: string, id: unknown, request: Request): string => {
    if (id === undefined || id === "") return byAddress(request);
    if (typeof id === "string") return prefix + id;
    throw new HeadgateError("HG_BAD_KEY", field, `must return a string that identifies the client, got ${shown(id)}`);
  };
  if (by === "ip") return byAddress;
  if (by === "user") {
    const { user } = adapter;
    if (user !== undefined) {
      return (request) => {
        const id = user(request);
        if (id === undefined || id === "") notices.give("HG_NO_USER", "a request has no user");
        return named("user:", id, request);
      };
    }
    throw new HeadgateError(
      "HG_BAD_OPTION",
      field,
      'cannot be "user", because this framework has no user: use a function',
    );
  }
  if (typeof by === "function") return (request) => after(by(request), (id) => named("id:", id, request));
  const name = headerName(by, field);
  return (request) => named("header:", adapter.header(request, name), request);
}

function headerName(by: unknown, field: string): string {
  if (typeof by === "object" && by !== null && "header" in by) {
    requireOptions(by, HEADER_OPTIONS, { at: `${field}.` });
    if (typeof by.header === "string" && HEADER_NAME.test(by.header)) return by.header.toLowerCase();
    throw new HeadgateError("HG_BAD_OPTION", `${field}.header`, `must be a header's name, got ${shown(by.header)}`);
  }
  throw new HeadgateError(
    "HG_BAD_OPTION",
    field,
    `must be "ip", "user", { header: name }, a function or a list of these, got ${shown(by)}`,
  );
}
