import type { Readable } from "node:stream";
import { Controller, Res, StreamableFile, type Type } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NextFunction, Request, Response } from "express";
import { Admitted, clientAddress, type Passed, RateLimit, RateLimitModule } from "../../../src/middleware/nest.ts";
import type { Framework, Routes, Running, TestGate } from "./framework.ts";
import { addRoute, quiet } from "./nest/program.ts";
import { answer, signalOf } from "./streams/answers.ts";
import { next, nodeStream, type Served, type StreamingServer, streamed } from "./streams/streaming-server.ts";
import { frameworkSuite } from "./suite.ts";

function decoration({ asked, onDenied }: TestGate<Request>): MethodDecorator {
  if (asked === null) return RateLimit("api", asked);
  const { rules, ...options } = typeof asked === "string" || "length" in asked ? { rules: asked } : asked;
  if (onDenied === undefined) return RateLimit(rules, options);
  return RateLimit(rules, {
    ...options,
    onDenied(refused, context) {
      const { status, body } = onDenied(refused);
      context.switchToHttp().getResponse<Response>().status(status).send(body);
    },
  });
}

function siteOf(routes: Routes<Request>): Type {
  class Site {}
  for (const [path, { gates, handle }] of Object.entries(routes)) {
    const handler = async (...[passed, response]: (Passed | undefined | Response)[]) => {
      const { status, body } = await handle(passed as Passed | undefined);
      (response as Response).status(status).send(body);
    };
    addRoute(Site.prototype, path, handler, gates.map(decoration));
    Admitted()(Site.prototype, path, 0);
    Res()(Site.prototype, path, 1);
  }
  Controller()(Site);
  return Site;
}

function authenticate(request: Request, _response: Response, next: NextFunction): void {
  const id = request.get("x-user");
  if (id !== undefined) Object.assign(request, { user: { id } });
  next();
}

/** Nest, with a handler that gets the admission and the response. */
async function listenNest(
  { limiter, ...job }: Served,
  respond: (chunks: Readable, response: Response) => unknown,
  passthrough: boolean,
): Promise<Running> {
  class Site {}
  const handler = async (...[admission, response]: (Passed | Response)[]) => {
    const raw = response as Response;
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

const framework: Framework<Request> = {
  name: "Nest",
  hasUsers: true,
  clientAddress,
  header: (request, name) => request.get(name),
  async listen(routes, host) {
    const [{ gates }] = Object.values(routes);
    const imports = [RateLimitModule.forRoot({ limiter: gates[0].limiter })];
    const app = await NestFactory.create({ module: class {}, imports, controllers: [siteOf(routes)] }, quiet);
    app.use(authenticate);
    await app.listen(0, host);
    return { server: app.getHttpServer(), close: () => app.close() };
  },
  streams: [nestServer, nestFile],
};

frameworkSuite(framework);
