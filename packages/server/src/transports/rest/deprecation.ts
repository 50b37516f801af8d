import type { FastifyInstance, onRequestHookHandler } from "fastify";
import type { RouteName } from "../../access/permissions.ts";
import { listed } from "./authorize.ts";

/** A route that will go. */
interface Deprecation {
  /** Since when nobody should begin to use it. */
  readonly since: Date;
  /** When it goes: six months after `since` at the earliest. */
  readonly sunset: Date;
  /** Where it says what to use instead. */
  readonly link: string;
}

export type Deprecations = Readonly<Partial<Record<RouteName, Deprecation>>>;

/** The routes that will go: none so far. */
export const DEPRECATIONS: Deprecations = {};

/** Says in every answer of these routes that they will go (RFC 9745, RFC 8594). */
export function announceDeprecations(app: FastifyInstance, deprecations: Deprecations): void {
  const headers = new Map(Object.entries(deprecations).map(([route, deprecation]) => [route, headersOf(deprecation)]));
  app.addHook("onRoute", (route) => {
    const announced = headers.get(`${route.method === "HEAD" ? "GET" : route.method} ${route.url}`);
    if (announced === undefined) return;
    route.schema = { ...route.schema, deprecated: true };
    const announce: onRequestHookHandler = (_request, reply, done) => {
      // Not fastify's: some routes answer past it.
      for (const [name, value] of Object.entries(announced)) reply.raw.setHeader(name, value);
      done();
    };
    route.onRequest = [announce, ...listed(route.onRequest)];
  });
}

function headersOf({ since, sunset, link }: Deprecation): Record<string, string> {
  return {
    deprecation: `@${Math.floor(since.getTime() / 1000)}`,
    sunset: sunset.toUTCString(),
    link: `<${link}>; rel="deprecation"; type="text/html"`,
  };
}
