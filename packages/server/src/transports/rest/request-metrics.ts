import type { FastifyInstance, onRequestHookHandler, onResponseHookHandler } from "fastify";
import type { Telemetry } from "../../metrics/telemetry.ts";
import { listed } from "./authorize.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** When the headers had arrived, in milliseconds. */
    arrivedAt: number;
  }
  interface FastifyContextConfig {
    /** The route reports its own end: waiting for the end of the response costs as much as a check. */
    countsItself?: boolean;
  }
}

/** Counts and times calls by route, since paths contain ids. */
export class Calls {
  private readonly telemetry: Pick<Telemetry, "called">;

  constructor(telemetry: Pick<Telemetry, "called">) {
    this.telemetry = telemetry;
  }

  count(app: FastifyInstance): void {
    app.decorateRequest("arrivedAt", 0);
    app.addHook("onRoute", (route) => {
      route.onRequest = [arrive, ...listed(route.onRequest)];
      if (route.config?.countsItself !== true) route.onResponse = [...listed(route.onResponse), this.responded];
    });
  }

  ended(route: string, arrivedAt: number, status: number): void {
    this.telemetry.called("rest", route, String(status), (performance.now() - arrivedAt) / 1000);
  }

  /** A request to an unknown route, which has no start time. */
  lost(status: number): void {
    this.telemetry.called("rest", "unknown", String(status), 0);
  }

  private readonly responded: onResponseHookHandler = (request, reply, done) => {
    this.ended(request.routeOptions.url ?? "", request.arrivedAt, reply.statusCode);
    done();
  };
}

const arrive: onRequestHookHandler = (request, _reply, done) => {
  request.arrivedAt = performance.now();
  done();
};
