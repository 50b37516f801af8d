import { anything, must, type Requirements, readOptions, wholeNumber } from "../../options.ts";
import { type Notices, processNotices } from "../notices.ts";
import type { RequestAdapter } from "../request-adapter.ts";
import { type ForwardedHeader, hops, parseNode } from "./forwarded.ts";
import { addressText, type IpAddress } from "./ip-address.ts";
import { type Proxies, requireTrust, type Trust } from "./trusted-proxies.ts";

/** How the client's address is found. */
export interface AddressOptions {
  /**
   * Trusted proxies in front of this server. Default: the framework's own setting (`trust proxy` in Express, `trustProxy`
   * in Fastify), otherwise none, with a warning if a request seems to come through a proxy.
   */
  readonly proxies?: Proxies | undefined;
  /** The header that these proxies write. Other forwarding headers are ignored. Default `x-forwarded-for`. */
  readonly forwardedHeader?: ForwardedHeader | undefined;
  /** Leading bits of an IPv6 address that identify a client. Default 64. */
  readonly ipv6Prefix?: number | undefined;
}

const FORWARDED_HEADERS: readonly ForwardedHeader[] = ["x-forwarded-for", "forwarded"];

/** A proxy shows up in the first requests; after that, occasional sampling is enough. */
const LOOK_AT_FIRST = 100;
const LOOK_EVERY = 64;

interface Peer {
  /** As reported by the framework. */
  readonly reported: string | undefined;
  /** Without brackets and port. */
  readonly text: string | undefined;
  readonly address: IpAddress | undefined;
  /** The key if the peer itself is the client. */
  readonly client: string | undefined;
}

const NO_PEER: Peer = { reported: undefined, text: undefined, address: undefined, client: undefined };

/** Number of peers whose parsed addresses are cached. */
const MOST_PEERS = 1_000;

/** Determines the client that a request comes from. */
export class ClientAddress<Request> {
  private readonly adapter: RequestAdapter<Request>;
  private readonly trust: Trust | undefined;
  private readonly header: ForwardedHeader;
  private readonly ipv6Prefix: number;
  private readonly notices: Notices;
  private requests = 0;
  // Most peers send several requests in a row.
  private latest = NO_PEER;
  private readonly peers = new Map<string, Peer>();

  constructor(adapter: RequestAdapter<Request>, options: AddressOptions, notices: Notices) {
    const { proxies, forwardedHeader = "x-forwarded-for", ipv6Prefix = 64 } = options;
    this.adapter = adapter;
    this.trust = proxies === undefined ? undefined : requireTrust(proxies);
    this.header = forwardedHeader;
    this.ipv6Prefix = ipv6Prefix;
    this.notices = notices;
  }

  /** The client's address, with IPv6 reduced to its prefix; undefined if there is none. */
  of(request: Request): string | undefined {
    const { trust } = this;
    const { text, address, client } = this.peer(this.adapter.peer(request));
    if (trust === undefined) {
      this.lookForProxy(request, client);
      return client;
    }
    const forwarded = trust(address, text, 0) ? this.adapter.header(request, this.header) : undefined;
    if (forwarded === undefined) return client;
    const origin = this.behind(address, forwarded, trust);
    return origin && addressText(origin, this.ipv6Prefix);
  }

  /** Follows the hops while they are trusted. An entry without an address ends the search. */
  private behind(peer: IpAddress | undefined, forwarded: string, trust: Trust): IpAddress | undefined {
    let client = peer;
    let distance = 1;
    for (const hop of hops(this.header, forwarded)) {
      if (hop === undefined) break;
      client = hop.address;
      if (!trust(hop.address, hop.text, distance)) break;
      distance += 1;
    }
    return client;
  }

  private peer(reported: string | undefined): Peer {
    if (reported !== this.latest.reported) this.latest = reported === undefined ? NO_PEER : this.known(reported);
    return this.latest;
  }

  private known(reported: string): Peer {
    const known = this.peers.get(reported);
    if (known !== undefined) return known;
    if (this.peers.size >= MOST_PEERS) this.peers.clear();
    const { address, text = reported } = parseNode(reported) ?? {};
    const peer = { reported, text, address, client: address && addressText(address, this.ipv6Prefix) };
    this.peers.set(reported, peer);
    return peer;
  }

  private lookForProxy(request: Request, client: string | undefined): void {
    this.requests += 1;
    if (this.requests > LOOK_AT_FIRST && this.requests % LOOK_EVERY !== 0) return;
    if (this.adapter.trustsAll?.(request)) this.notices.give("HG_ALL_PROXIES_TRUSTED", "every proxy is trusted");
    if (!this.isPeer(request, client)) return;
    const found = FORWARDED_HEADERS.find((name) => this.namesAnother(name, this.adapter.header(request, name), client));
    if (found === undefined) return;
    const from = client === undefined ? "" : ` from ${client}`;
    this.notices.give("HG_PROXY_NOT_TRUSTED", `a request${from} has the header ${found}`);
  }

  /** Whether the client is the peer of the connection, even if the framework is configured for proxies. */
  private isPeer(request: Request, client: string | undefined): boolean {
    const { connection } = this.adapter;
    return connection === undefined || this.peer(connection(request)).client === client;
  }

  /**
   * Whether a forwarding header names another client. A proxy that forwards its own requests, as in development, hides
   * no client.
   */
  private namesAnother(header: ForwardedHeader, text: string | undefined, client: string | undefined): boolean {
    if (text === undefined) return false;
    for (const hop of hops(header, text)) {
      if (hop === undefined || addressText(hop.address, this.ipv6Prefix) !== client) return true;
    }
    return false;
  }
}

/** What the options of addresses must be. */
export const addressRequirements: Requirements<AddressOptions> = {
  proxies: anything,
  forwardedHeader: must(`one of ${FORWARDED_HEADERS.join(", ")}`, (name) =>
    FORWARDED_HEADERS.some((known) => known === name),
  ),
  ipv6Prefix: wholeNumber(1, 128),
};
const NONE: AddressOptions = Object.freeze({});

/** Creates the `clientAddress` function of a framework, which returns the address that the middleware would use. */
export function clientAddressOf<Request>(
  adapterFor: (options: AddressOptions) => RequestAdapter<Request>,
): (request: Request, options?: AddressOptions) => string | undefined {
  const known = new WeakMap<AddressOptions, ClientAddress<Request>>();
  return (request, options = NONE) => {
    let address = known.get(options);
    if (address === undefined) {
      readOptions(options, addressRequirements);
      address = new ClientAddress(adapterFor(options), options, processNotices);
      known.set(options, address);
    }
    return address.of(request);
  };
}
