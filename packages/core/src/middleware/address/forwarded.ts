import { type IpAddress, parseAddress } from "./ip-address.ts";

/** The headers in which proxies say whom they speak for. */
export type ForwardedHeader = "x-forwarded-for" | "forwarded";

/**
 * The hops that a header tells, nearest first: the right end was written by the nearest proxy, and what stands
 * further left may be anybody's invention. Each is an address, or nothing where the entry has none. Read from the
 * right, so that nothing a client wrote, such as a quote that is never closed, can swallow what a proxy wrote.
 */
export function* hops(header: ForwardedHeader, text: string): Generator<Hop | undefined> {
  for (const entry of entriesFromTheRight(text, ",", header === "forwarded")) {
    if (entry === "") continue;
    yield header === "forwarded" ? parseElement(entry) : parseNode(entry);
  }
}

export interface Hop {
  readonly address: IpAddress;
  /** As it was written, without brackets and port. */
  readonly text: string;
}

/** What stands between separators, last first, without the spaces around it. Each character is looked at once. */
function* entriesFromTheRight(text: string, separator: string, quotes: boolean): Generator<string> {
  let end = text.length;
  let quoted = false;
  for (let i = text.length - 1; i >= 0; i -= 1) {
    if (quotes && text[i] === '"') quoted = !quoted;
    else if (text[i] === separator && !quoted) {
      yield text.slice(i + 1, end).trim();
      end = i;
    }
  }
  yield text.slice(0, end).trim();
}

/** One element of `Forwarded` (RFC 7239): `for="[2001:db8::1]:4711";proto=https`. */
function parseElement(element: string): Hop | undefined {
  for (const pair of entriesFromTheRight(element, ";", true)) {
    const [, value] = /^for=(.*)$/is.exec(pair) ?? [];
    if (value !== undefined)
      return parseNode(value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value);
  }
  return undefined;
}

/** Longer than any address with brackets, a zone and a port. */
const LONGEST_NODE = 128;

/** An address, with or without a port; an IPv6 address with a port stands in brackets. */
export function parseNode(node: string): Hop | undefined {
  if (node.length > LONGEST_NODE) return undefined;
  const [, bracketed] = /^\[([^\]]*:[^\]]*)\](?::\w+)?$/.exec(node) ?? [];
  if (bracketed !== undefined) return hopOf(bracketed);
  const colon = node.indexOf(":");
  const hasPort = colon !== -1 && colon === node.lastIndexOf(":");
  return hopOf(hasPort && /^\w+$/.test(node.slice(colon + 1)) ? node.slice(0, colon) : node);
}

function hopOf(text: string): Hop | undefined {
  const address = parseAddress(text);
  return address && { address, text };
}
