import { type IpAddress, parseAddress } from "./ip-address.ts";

/** Headers in which proxies report the client. */
export type ForwardedHeader = "x-forwarded-for" | "forwarded";

/**
 * The hops in a header, nearest first. The nearest proxy wrote the rightmost entry, and entries further left may be
 * forged. Each hop is an address, or undefined if the entry has none. The text is parsed from the right, so that
 * nothing a client wrote, such as an unclosed quote, can hide what a proxy wrote.
 */
export function* hops(header: ForwardedHeader, text: string): Generator<Hop | undefined> {
  for (const entry of entriesFromTheRight(text, ",", header === "forwarded")) {
    if (entry === "") continue;
    yield header === "forwarded" ? parseElement(entry) : parseNode(entry);
  }
}

export interface Hop {
  readonly address: IpAddress;
  /** As written, without brackets and port. */
  readonly text: string;
}

/** Entries between separators, last first and trimmed, in a single pass. */
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

/** Parses an address with or without a port. An IPv6 address with a port is in brackets. */
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
