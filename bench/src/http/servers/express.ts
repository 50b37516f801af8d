import type { Server } from "node:http";
import express, { type RequestHandler } from "express";
import { HEADGATE } from "../../suite.ts";
import { HEADERS, HELLO, LIMIT, type Limiters, limiterOf, THREE_HEADERS, WINDOW_MS } from "./server.ts";

const limiters: Limiters<RequestHandler> = {
  async [HEADGATE]() {
    const { rateLimit } = await import("headgate/express");
    const { limiter } = await import("./headgate.ts");
    return rateLimit(limiter, "api");
  },
  async "express-rate-limit"() {
    const { rateLimit } = await import("express-rate-limit");
    return rateLimit({ limit: LIMIT, windowMs: WINDOW_MS, standardHeaders: "draft-8", legacyHeaders: false });
  },
  async [THREE_HEADERS]() {
    return (_request, response, next) => {
      for (const [name, value] of HEADERS) response.setHeader(name, value);
      next();
    };
  },
};

export async function serve(subject: string): Promise<Server> {
  const app = express();
  const limiter = await limiterOf(limiters, subject);
  if (limiter !== undefined) app.use(limiter);
  app.get("/", (_request, response) => {
    response.json(HELLO);
  });
  return new Promise((resolve, reject) => {
    const server = app.listen(0, "127.0.0.1", (error) => (error === undefined ? resolve(server) : reject(error)));
  });
}
