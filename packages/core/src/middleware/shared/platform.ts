/**
 * The address at the other end of the connection, as the platforms that serve `Request → Response` tell it: beside
 * the request, where no client can write it.
 * - Node (`@hono/node-server`): `{ incoming }`
 * - Bun: the server, or `{ server }`
 * - Deno: `{ remoteAddr }`
 * - Cloudflare Workers: a header that Cloudflare itself sets, believed only there
 */
export function platformPeer(request: Request, platform: unknown): string | undefined {
  const given = fieldOf(platform, "server") ?? platform;
  return (
    textOf(fieldOf(fieldOf(fieldOf(given, "incoming"), "socket"), "remoteAddress")) ??
    textOf(fieldOf(fieldOf(given, "remoteAddr"), "hostname")) ??
    bunPeer(request, given) ??
    (isCloudflare() ? (request.headers.get("cf-connecting-ip") ?? undefined) : undefined)
  );
}

function bunPeer(request: Request, server: unknown): string | undefined {
  const requestIP = fieldOf(server, "requestIP");
  return typeof requestIP === "function" ? textOf(fieldOf(requestIP.call(server, request), "address")) : undefined;
}

function isCloudflare(): boolean {
  return fieldOf(fieldOf(globalThis, "navigator"), "userAgent") === "Cloudflare-Workers";
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
