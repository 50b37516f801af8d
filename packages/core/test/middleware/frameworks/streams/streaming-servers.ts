import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import { serve } from "@hono/node-server";
import { Controller, Res, StreamableFile } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import express, { type Response as ExpressResponse } from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { stream } from "hono/streaming";
import Koa from "koa";
import type { Limiter } from "../../../../src/index.ts";
import type { Passed } from "../../../../src/middleware/admission.ts";
import * as forExpress from "../../../../src/middleware/express.ts";
import * as forFastify from "../../../../src/middleware/fastify.ts";
import * as forHono from "../../../../src/middleware/hono.ts";
import * as forKoa from "../../../../src/middleware/koa.ts";
import { Admitted, RateLimit, RateLimitModule } from "../../../../src/middleware/nest.ts";
import * as forWeb from "../../../../src/middleware/web.ts";
import { closeServer, type Running, type rules } from "../framework.ts";
import { addRoute, quiet } from "../nest/program.ts";
import { answer, type Pattern, signalOf } from "./answers.ts";

/** What is served: at `/stream` the answer of the upstream, at `/next` an empty response. */
interface Served {
  readonly limiter: Limiter<typeof rules>;
  readonly upstream: string;
  readonly pattern: Pattern;
}

export interface StreamingServer {
  readonly name: string;
  /** Whether the headers are sent as soon as the upstream has answered; otherwise with the first byte. */
  readonly flushesHeaders: boolean;
  listen(served: Served): Promise<Running>;
}

/** How much is reserved for a stream, of 10. */
export const RESERVED = 6;
const streamed = { rules: { rule: "day", reserve: RESERVED } } as const;
const next = "day";

const nodeHttp: StreamingServer = {
  name: "node:http",
  flushesHeaders: true,
  listen({ limiter, ...job }) {
    const forStream = forExpress.rateLimit(limiter, streamed);
    const forNext = forExpress.rateLimit(limiter, next);
    const server = createServer((request, response) => {
      if (request.url === "/next") return forNext(request, response, () => response.end());
      forStream(request, response, async () => {
        const { rateLimit: admission } = request as { rateLimit?: Passed };
        try {
          const chunks = await answer({ ...job, admission, signal: signalOf(response) });
          response.flushHeaders();
          for await (const chunk of chunks) response.write(chunk);
          response.end();
        } catch {
          response.destroy();
        }
      });
    });
    return listening(server);
  },
};

const expressServer: StreamingServer = {
  name: "Express",
  flushesHeaders: true,
  listen({ limiter, ...job }) {
    const app = express();
    app.set("env", "test");
    app.get("/next", forExpress.rateLimit(limiter, next), (_request, response) => void response.end());
    app.get("/stream", forExpress.rateLimit(limiter, streamed), async (request, response) => {
      const chunks = await answer({ ...job, admission: request.rateLimit, signal: signalOf(response) });
      response.flushHeaders();
      for await (const chunk of chunks) response.write(chunk);
      response.end();
    });
    return listening(createServer(app));
  },
};

const fastifyServer: StreamingServer = {
  name: "Fastify",
  flushesHeaders: false,
  async listen({ limiter, ...job }) {
    const app = fastify({ forceCloseConnections: true });
    app.get("/next", { onRequest: forFastify.rateLimit(limiter, next) }, async () => "");
    app.get("/stream", { onRequest: forFastify.rateLimit(limiter, streamed) }, async (request, reply) => {
      const chunks = await answer({ ...job, admission: request.rateLimit, signal: signalOf(reply.raw) });
      return reply.send(nodeStream(chunks));
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    return { server: app.server, close: () => app.close() };
  },
};

/** As Fastify's users write server-sent events. */
const hijackedFastify: StreamingServer = {
  name: "Fastify with a hijacked reply",
  flushesHeaders: true,
  async listen({ limiter, ...job }) {
    const app = fastify({ forceCloseConnections: true });
    app.get("/next", { onRequest: forFastify.rateLimit(limiter, next) }, async () => "");
    app.get("/stream", { onRequest: forFastify.rateLimit(limiter, streamed) }, async (request, reply) => {
      const chunks = await answer({ ...job, admission: request.rateLimit, signal: signalOf(reply.raw) });
      reply.hijack();
      reply.raw.writeHead(200).flushHeaders();
      nodeStream(chunks)
        .on("error", () => reply.raw.destroy())
        .pipe(reply.raw);
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    return { server: app.server, close: () => app.close() };
  },
};

const koaServer: StreamingServer = {
  name: "Koa",
  flushesHeaders: true,
  listen({ limiter, ...job }) {
    const app = new Koa();
    app.silent = true;
    const forNext = forKoa.rateLimit(limiter, next);
    const forStream = forKoa.rateLimit(limiter, streamed);
    app.use((ctx) => {
      ctx.status = 200;
      if (ctx.path === "/next") return forNext(ctx, async () => {});
      return forStream(ctx, async () => {
        const chunks = await answer({ ...job, admission: ctx.state.rateLimit, signal: signalOf(ctx.res) });
        ctx.flushHeaders();
        ctx.body = nodeStream(chunks);
      });
    });
    return listening(createServer(app.callback()));
  },
};

/** Nest, with a handler that gets the admission and the response. */
async function listenNest(
  { limiter, ...job }: Served,
  respond: (chunks: Readable, response: ExpressResponse) => unknown,
  passthrough: boolean,
): Promise<Running> {
  class Site {}
  const handler = async (...[admission, response]: (Passed | ExpressResponse)[]) => {
    const raw = response as ExpressResponse;
    const chunks = await answer({ ...job, admission: admission as Passed, signal: signalOf(raw) });
    return respond(nodeStream(chunks), raw);
  };
  addRoute(Site.prototype, "/stream", handler, [RateLimit(streamed.rules)]);
  Admitted()(Site.prototype, "/stream", 0);
  Res({ passthrough })(Site.prototype, "/stream", 1);
  addRoute(Site.prototype, "/next", () => "", [RateLimit(next)]);
  Controller()(Site);
  const imports = [RateLimitModule.forRoot({ limiter })];
  const app = await NestFactory.create({ module: class {}, imports, controllers: [Site] }, quiet);
  await app.listen(0, "127.0.0.1");
  return { server: app.getHttpServer(), close: () => app.close() };
}

const nestServer: StreamingServer = {
  name: "Nest",
  flushesHeaders: true,
  listen: (served) =>
    listenNest(
      served,
      (chunks, response) => {
        response.flushHeaders();
        chunks.on("error", () => response.destroy()).pipe(response);
      },
      false,
    ),
};

const nestFile: StreamingServer = {
  name: "Nest with a StreamableFile",
  flushesHeaders: false,
  listen: (served) => listenNest(served, (chunks) => new StreamableFile(chunks).setErrorLogger(() => {}), true),
};

const honoServer: StreamingServer = {
  name: "Hono",
  flushesHeaders: true,
  listen({ limiter, ...job }) {
    const app = new Hono();
    app.get("/next", forHono.rateLimit(limiter, next), (c) => c.body(null));
    app.get("/stream", forHono.rateLimit(limiter, streamed), async (c) => {
      const chunks = await answer({ ...job, admission: c.get("rateLimit"), signal: c.req.raw.signal });
      return stream(
        c,
        (output) => output.pipe(chunks),
        async () => {},
      );
    });
    return listening(serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server);
  },
};

const webServer: StreamingServer = {
  name: "Request → Response",
  flushesHeaders: true,
  listen({ limiter, ...job }) {
    const forNext = forWeb.rateLimit(limiter, next)((_request, _admission, _platform: unknown) => new Response(null));
    const limitStream = forWeb.rateLimit(limiter, streamed);
    const forStream = limitStream(async ({ signal }, admission, _platform: unknown) => {
      return new Response(await answer({ ...job, admission, signal }));
    });
    const handler = (request: Request, platform: unknown) =>
      new URL(request.url).pathname === "/next" ? forNext(request, platform) : forStream(request, platform);
    return listening(serve({ fetch: handler, port: 0, hostname: "127.0.0.1" }) as Server);
  },
};

export const streamingServers: readonly StreamingServer[] = [
  nodeHttp,
  expressServer,
  fastifyServer,
  hijackedFastify,
  koaServer,
  nestServer,
  nestFile,
  honoServer,
  webServer,
];

async function listening(server: Server): Promise<Running> {
  if (!server.listening) {
    if (server.address() === null) server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  return { server, close: () => closeServer(server) };
}

function nodeStream(chunks: ReadableStream<Uint8Array>): Readable {
  return Readable.fromWeb(chunks as NodeReadableStream<Uint8Array>);
}
