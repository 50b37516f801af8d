// Serves checks over REST, or echoes JSON with bare fastify, in a separate process whose CPU time is measured.
import { fastify } from "fastify";
import { serving } from "../run/serving.ts";
import { startNode } from "./node.ts";
import { REST_ECHO } from "./subjects.ts";

const [subject] = process.argv.slice(2);
const url = subject === REST_ECHO ? await echo() : (await startNode()).url;
serving(Number(new URL(url).port));

/** Parses a body like that of a check, and echoes it. */
async function echo(): Promise<string> {
  const app = fastify({ keepAliveTimeout: 120_000 });
  app.post("/api/v1/check", (request, reply) => reply.send(request.body));
  return app.listen({ port: 0, host: "127.0.0.1" });
}
