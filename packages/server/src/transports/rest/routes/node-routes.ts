import { z } from "zod";
import type { App } from "../app.ts";
import { problemBody } from "../problem.ts";
import { sendProblem } from "../reply.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { openProblems, problems } from "../schemas/problem-schemas.ts";

/** The Prometheus text format. */
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const status = z.object({ status: z.string() }).describe("The node is up");
const readiness = status.extend({
  store: z
    .enum(["reachable", "partial", "unreachable"])
    .optional()
    .describe(
      "State of Redis or ZooKeeper. `partial`: it rejects some calls, or a server of a Redis Cluster is unreachable. While the store does not answer, on_error decides",
    ),
});

/** Health and metrics of the node. */
export function nodeRoutes(app: App, { ready, store = () => undefined, metricsText }: RestParts): void {
  app.get(
    "/healthz",
    {
      schema: {
        tags: ["node"],
        summary: "Check that the process is running",
        response: { 200: status, ...openProblems("headers_too_large") },
      },
    },
    async () => ({ status: "ok" }),
  );

  app.get(
    "/readyz",
    {
      schema: {
        tags: ["node"],
        summary: "Check that the node can answer requests",
        response: {
          200: readiness.describe("The node can answer requests"),
          ...openProblems("headers_too_large", "not_ready"),
        },
      },
    },
    async (_request, reply) => {
      const waiting = await ready();
      // Ready even without the store: a node that applies on_error is better than none.
      if (waiting.length === 0) return { status: "ready", store: store() };
      return sendProblem(reply, problemBody("not_ready", `waiting for ${waiting.join(", ")}`, { waiting }));
    },
  );

  app.get(
    "/metrics",
    {
      schema: {
        tags: ["node"],
        summary: "Get metrics for Prometheus",
        response: {
          200: { description: "Prometheus text format", content: { "text/plain": { schema: z.string() } } },
          ...problems(),
        },
      },
    },
    async (_request, reply) => {
      reply.type(METRICS_TYPE);
      return await metricsText();
    },
  );
}
