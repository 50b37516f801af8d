import { HeadgateError, shown } from "../../errors.ts";
import { type IpAddress, isIpv4, masked, parseAddress } from "./ip-address.ts";

/**
 * Trusted proxies:
 * - a number: requests pass through this many proxies; 0 means none.
 * - addresses, networks (`10.0.0.0/8`) and the names `loopback`, `linklocal`, `uniquelocal` and `unix`.
 * - a function of the address (undefined on a Unix socket) and of the number of hops, 0 being the peer.
 */
export type Proxies = number | readonly string[] | ProxyTest;

type ProxyTest = (address: string | undefined, hop: number) => boolean;

/** Whether the proxy at `hop` is trusted, by its parsed address (undefined for a Unix socket) and its text. */
export type Trust = (address: IpAddress | undefined, text: string | undefined, hop: number) => boolean;

const NETWORKS: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
  uniquelocal: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};

const TRUSTING_ALL = "trusting every address lets clients choose their own";

/** A peer without an address. */
const UNIX = "unix";

/** Reads the option `proxies`. */
export function requireTrust(proxies: unknown, field = "proxies"): Trust {
  if (typeof proxies === "number") return trustHops(proxies, field);
  if (typeof proxies === "function") return (_address, text, hop) => proxies(text, hop) === true;
  if (Array.isArray(proxies)) return trustNetworks(proxies, field);
  const all = proxies === true ? `; ${TRUSTING_ALL}` : "";
  throw new HeadgateError(
    "HG_BAD_OPTION",
    field,
    `must be the number of proxies, a list of their addresses or a function, got ${shown(proxies)}${all}`,
  );
}

function trustHops(hops: number, field: string): Trust {
  if (!Number.isSafeInteger(hops) || hops < 0) {
    throw new HeadgateError("HG_BAD_OPTION", field, `must be a whole number of at least 0, got ${shown(hops)}`);
  }
  return (_address, _text, hop) => hop < hops;
}

function trustNetworks(list: readonly unknown[], field: string): Trust {
  const unix = list.includes(UNIX);
  const networks = list.flatMap((entry, i) => (entry === UNIX ? [] : networksOf(entry, `${field}[${i}]`)));
  return (address) => (address === undefined ? unix : networks.some((network) => contains(network, address)));
}

interface Network {
  readonly address: IpAddress;
  readonly bits: number;
}

function contains(network: Network, address: IpAddress): boolean {
  if (network.address.length !== address.length) return false;
  const start = masked(address, network.bits);
  return network.address.every((group, i) => group === start[i]);
}

function networksOf(entry: unknown, field: string): readonly Network[] {
  if (typeof entry === "string") {
    if (Object.hasOwn(NETWORKS, entry)) return NETWORKS[entry].flatMap((text) => networksOf(text, field));
    const network = parseNetwork(entry);
    if (network?.bits === 0) {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        field,
        `must not be every address, got ${shown(entry)}; ${TRUSTING_ALL}`,
      );
    }
    if (network !== undefined) return [network];
  }
  throw new HeadgateError(
    "HG_BAD_OPTION",
    field,
    `must be an address, a network such as 10.0.0.0/8, or one of ${[...Object.keys(NETWORKS), UNIX].join(", ")}, got ${shown(entry)}`,
  );
}

function parseNetwork(text: string): Network | undefined {
  const [written, prefix, ...rest] = text.split("/");
  const address = parseAddress(written);
  if (address === undefined || rest.length > 0) return undefined;
  const most = address.length * 16;
  if (prefix === undefined) return { address, bits: most };
  if (!/^\d{1,3}$/.test(prefix)) return undefined;
  // ::ffff:10.0.0.0/104 is 10.0.0.0/8: the mapped prefix has 96 bits.
  const bits = Number(prefix) - (isIpv4(address) && written.includes(":") ? 96 : 0);
  return bits < 0 || bits > most ? undefined : { address: masked(address, bits), bits };
}
