import { Controller, Res, type Type } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NextFunction, Request, Response } from "express";
import { Admitted, clientAddress, type Passed, RateLimit, RateLimitModule } from "../../../src/middleware/nest.ts";
import type { Framework, Routes, TestGate } from "./framework.ts";
import { addRoute, quiet } from "./nest/program.ts";
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
};

frameworkSuite(framework);
