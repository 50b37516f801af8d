import type { FastifyInstance } from "fastify";
import { Problem } from "./problem.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** Returns 405 where a path exists for other methods. Call the returned function once all routes are registered. */
export function rejectOtherMethods(app: FastifyInstance): () => void {
  const taken = new Map<string, Set<string>>();
  app.addHook("onRoute", ({ method, url, config }) => {
    if (config?.rejectsMethod === true) return;
    const methods = taken.get(url) ?? new Set();
    for (const name of [method].flat()) methods.add(name);
    taken.set(url, methods);
  });
  return () => {
    for (const [url, methods] of taken) {
      const allow = [...methods].sort().join(", ");
      app.route({
        method: METHODS.filter((method) => !methods.has(method)),
        url,
        config: { rejectsMethod: true },
        schema: { hide: true },
        // Before its body is looked at.
        onRequest: (_request, _reply, done) =>
          done(new Problem("method_not_allowed", `it takes ${allow}`, { headers: { allow } })),
        handler: () => {},
      });
    }
  };
}
