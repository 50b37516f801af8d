/**
 * The address of the peer, from what each platform passes next to the `Request`, where clients cannot forge it:
 * - Node (`@hono/node-server`): `{ incoming }`
 * - Bun: the server, or `{ server }`
 * - Deno: `{ remoteAddr }`
 * - Cloudflare Workers: a header that Cloudflare sets, trusted only there
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
