/** An address in groups of 16 bits: two for IPv4, eight for IPv6. */
export type IpAddress = readonly number[];

const IPV4_GROUPS = 2;
const IPV6_GROUPS = 8;
/** `255.255.255.255`, and six groups of four digits followed by an IPv4 address. */
const LONGEST_IPV4 = 15;
const LONGEST_IPV6 = 45;

export function isIpv4(address: IpAddress): boolean {
  return address.length === IPV4_GROUPS;
}

/**
 * Parses an address in any notation, with or without a zone (`fe80::1%eth0`). IPv4-mapped IPv6 addresses
 * (`::ffff:1.2.3.4`, `::ffff:102:304`) become IPv4 addresses, so that one client does not count as two.
 */
export function parseAddress(text: string): IpAddress | undefined {
  const zone = text.indexOf("%");
  if (zone === -1 && !text.includes(":")) return parseIpv4(text);
  const address = parseIpv6(zone === -1 ? text : text.slice(0, zone));
  return address !== undefined && isMapped(address) ? address.slice(6) : address;
}

/**
 * The key of a client: an IPv4 address, or the network of an IPv6 address, because a subscriber controls the whole
 * network. A NAT64 address (`64:ff9b::1.2.3.4`) has the key of its IPv4 address; otherwise all of IPv4 would be one
 * client.
 */
export function addressText(address: IpAddress, ipv6Prefix: number): string {
  if (isIpv4(address)) return address.map((group) => `${group >> 8}.${group & 255}`).join(".");
  if (isTranslated(address)) return addressText(address.slice(6), ipv6Prefix);
  const groups = masked(address, ipv6Prefix).slice(0, Math.ceil(ipv6Prefix / 16));
  const text = groups.map((group) => group.toString(16)).join(":");
  return groups.length === IPV6_GROUPS ? `${text}/${ipv6Prefix}` : `${text}::/${ipv6Prefix}`;
}

/** The address with all but its first bits cleared. */
export function masked(address: IpAddress, bits: number): IpAddress {
  return address.map((group, i) => group & maskOf(bits - 16 * i));
}

/** Mask for the first `bits` of a 16-bit group. */
function maskOf(bits: number): number {
  if (bits <= 0) return 0;
  return bits >= 16 ? 0xffff : (0xffff << (16 - bits)) & 0xffff;
}

function isMapped(address: IpAddress): boolean {
  return address[5] === 0xffff && address.slice(0, 5).every((group) => group === 0);
}

/** Whether the address is in the well-known prefix 64:ff9b::/96 (RFC 6052). */
function isTranslated(address: IpAddress): boolean {
  return address[0] === 0x64 && address[1] === 0xff9b && address.slice(2, 6).every((group) => group === 0);
}

function parseIpv4(text: string): IpAddress | undefined {
  if (text.length > LONGEST_IPV4) return undefined;
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  const bytes = parts.map(byteOf);
  if (bytes.includes(-1)) return undefined;
  return [bytes[0] * 256 + bytes[1], bytes[2] * 256 + bytes[3]];
}

/** A number from 0 to 255, or -1. Leading zeros are rejected, because some software reads them as octal. */
function byteOf(text: string): number {
  if (!/^(?:0|[1-9]\d{0,2})$/.test(text)) return -1;
  const byte = Number(text);
  return byte <= 255 ? byte : -1;
}

function parseIpv6(text: string): IpAddress | undefined {
  if (text.length > LONGEST_IPV6) return undefined;
  const gap = text.indexOf("::");
  if (gap === -1) {
    const groups = groupsOf(text);
    return groups?.length === IPV6_GROUPS ? groups : undefined;
  }
  const before = gap === 0 ? [] : groupsOf(text.slice(0, gap), false);
  const after = gap + 2 === text.length ? [] : groupsOf(text.slice(gap + 2));
  if (before === undefined || after === undefined) return undefined;
  const zeros = IPV6_GROUPS - before.length - after.length;
  return zeros < 1 ? undefined : [...before, ...new Array<number>(zeros).fill(0), ...after];
}

/** Groups separated by colons; the last two may be written as an IPv4 address. */
function groupsOf(text: string, atEnd = true): number[] | undefined {
  const parts = text.split(":");
  const groups: number[] = [];
  for (const [i, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
      continue;
    }
    const last = atEnd && i === parts.length - 1 ? parseIpv4(part) : undefined;
    if (last === undefined) return undefined;
    groups.push(...last);
  }
  return groups;
}
