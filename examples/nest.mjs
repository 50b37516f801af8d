// NestJS: 5 requests per minute and client, and 2 logins per minute.
// Plain JavaScript has no decorators, so this example calls them as functions. In TypeScript, write:
//
//   @Post("login")
//   @RateLimit(["api", "login"])
//   logIn() { … }
import "reflect-metadata";
import { Controller, Get, Module, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { rateLimiter, tokenBucket } from "headgate";
import { Admitted, RateLimit, RateLimitModule } from "headgate/nest";

const limiter = rateLimiter({ api: tokenBucket("5/m"), login: tokenBucket("2/m") });

class Home {
  greet(admission) {
    return `hello, ${Math.floor(admission.decided.remaining)} more\n`;
  }

  logIn() {
    return "welcome\n";
  }
}

decorate(Home, "greet", Get());
Admitted()(Home.prototype, "greet", 0);
decorate(Home, "logIn", Post("login"), RateLimit(["api", "login"]));
Controller()(Home);

class App {}
Module({ imports: [RateLimitModule.forRoot({ limiter, rules: "api" })], controllers: [Home] })(App);

const app = await NestFactory.create(App, { logger: ["warn", "error"] });
await app.listen(process.env.PORT ?? 0, "127.0.0.1");
const url = await app.getUrl();
console.log(`listening on ${url}\ntry: curl -i ${url}/ six times, curl -i -X POST ${url}/login three times`);

function decorate(type, method, ...decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, method);
  for (const each of decorators) each(type.prototype, method, descriptor);
}
