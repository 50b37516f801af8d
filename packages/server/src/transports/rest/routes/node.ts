import { z } from "zod";
import type { App } from "../app.ts";
import { problemBody } from "../problem.ts";
import { sendProblem } from "../reply.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { openProblems, problems, status } from "../schemas.ts";

/** As Prometheus reads it. */
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

const readiness = status.extend({
  store: z
    .enum(["reachable", "partial", "unreachable"])
    .optional()
    .describe(
      "Redis or ZooKeeper. `partial`: it refuses some calls, or a node of a Redis Cluster cannot be reached. Where the store does not answer, rules do what on_error says",
    ),
});

/** How the node itself does. */
export function nodeRoutes(app: App, { ready, store = () => undefined, metricsText }: RestParts): void {
  app.get(
    "/healthz",
    {
      schema: {
        tags: ["node"],
        summary: "Whether the process answers",
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
        summary: "Whether the node can do its work",
        response: { 200: readiness, ...openProblems("headers_too_large", "not_ready") },
      },
    },
    async (_request, reply) => {
      const waiting = await ready();
      // Also without the store: a node that rules can answer for is better than none.
      if (waiting.length === 0) return { status: "ready", store: store() };
      return sendProblem(reply, problemBody("not_ready", `it waits for ${waiting.join(", ")}`, { waiting }));
    },
  );

  app.get(
    "/metrics",
    {
      schema: {
        tags: ["node"],
        summary: "Figures for Prometheus",
        response: { 200: { description: "Text", content: { "text/plain": { schema: z.string() } } }, ...problems() },
      },
    },
    async (_request, reply) => {
      reply.type(METRICS_TYPE);
      return await metricsText();
    },
  );
}
