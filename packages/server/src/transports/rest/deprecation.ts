import type { FastifyInstance, onRequestHookHandler } from "fastify";
import type { RouteName } from "../../access/permissions.ts";
import { listed } from "./authorize.ts";

/** A route that will be removed. */
interface Deprecation {
  /** When it was deprecated. */
  readonly since: Date;
  /** When it will be removed: at least six months after `since`. */
  readonly sunset: Date;
  /** A page that names the replacement. */
  readonly link: string;
}

export type Deprecations = Readonly<Partial<Record<RouteName, Deprecation>>>;

/** The deprecated routes: none so far. */
export const DEPRECATIONS: Deprecations = {};

/** Adds deprecation headers to every response of these routes (RFC 9745, RFC 8594). */
export function announceDeprecations(app: FastifyInstance, deprecations: Deprecations): void {
  const headers = new Map(Object.entries(deprecations).map(([route, deprecation]) => [route, headersOf(deprecation)]));
  app.addHook("onRoute", (route) => {
    const announced = headers.get(`${route.method === "HEAD" ? "GET" : route.method} ${route.url}`);
    if (announced === undefined) return;
    route.schema = { ...route.schema, deprecated: true };
    const announce: onRequestHookHandler = (_request, reply, done) => {
      // On the raw response, since some routes bypass fastify's reply.
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
