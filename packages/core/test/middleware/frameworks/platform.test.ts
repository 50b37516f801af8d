import { afterEach, describe, expect, it, vi } from "vitest";
import { platformPeer } from "../../../src/middleware/shared/platform.ts";

const request = new Request("http://localhost/", { headers: { "cf-connecting-ip": "6.6.6.6" } });
const incoming = { socket: { remoteAddress: "192.0.2.1" } };

class BunServer {
  private readonly addresses = new Map([[request, { address: "192.0.2.3", family: "IPv4", port: 7 }]]);

  requestIP(request: Request): { address: string } | null {
    return this.addresses.get(request) ?? null;
  }
}

describe("the address of the peer", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it.each([
    ["Node", { incoming, outgoing: {} }, "192.0.2.1"],
    ["Node, inside", { server: { incoming } }, "192.0.2.1"],
    ["Deno", { remoteAddr: { transport: "tcp", hostname: "192.0.2.2", port: 7 } }, "192.0.2.2"],
    ["Bun", new BunServer(), "192.0.2.3"],
    ["Bun, inside", { server: new BunServer() }, "192.0.2.3"],
  ])("is given by %s", (_name, platform, address) => {
    expect(platformPeer(request, platform)).toBe(address);
  });

  it("is given by Cloudflare in a header, which is ignored elsewhere", () => {
    expect(platformPeer(request, {})).toBeUndefined();
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    expect(platformPeer(request, { DATABASE: {} })).toBe("6.6.6.6");
  });

  it.each([
    ["nothing", undefined],
    ["the parameters of a route", { params: Promise.resolve({}) }],
    ["a Unix socket of Node", { incoming: { socket: {} } }],
    ["a Unix socket of Deno", { remoteAddr: { transport: "unix", path: "/run/app" } }],
    ["a request that Bun does not know any more", { requestIP: () => null }],
    ["a text", "server"],
  ])("is not known from %s", (_name, platform) => {
    expect(platformPeer(request, platform)).toBeUndefined();
  });
});
