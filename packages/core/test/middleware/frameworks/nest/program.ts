import "reflect-metadata";
import {
  Controller,
  type DynamicModule,
  Get,
  type NestApplicationOptions,
  type Provider,
  type Type,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import { onTestFinished } from "vitest";

export const quiet: NestApplicationOptions = { logger: false, abortOnError: false, forceCloseConnections: true };

/** Nothing here reads decorators, so they are applied as the functions that they are. */
export function addRoute(
  target: object,
  path: string,
  handler: () => unknown,
  decorators: readonly MethodDecorator[] = [],
) {
  const descriptor = { value: handler };
  Object.defineProperty(target, path, descriptor);
  for (const decorate of [...decorators, Get(path)]) decorate(target, path, descriptor);
}
/** Those of a controller: a path, and what stands on its method. */
type Methods = Readonly<Record<string, readonly MethodDecorator[]>>;

export function controller(methods: Methods, ...decorators: readonly ClassDecorator[]): Type {
  class Some {}
  for (const [path, onMethod] of Object.entries(methods)) addRoute(Some.prototype, path, () => "ok", onMethod);
  for (const decorate of [...decorators, Controller()]) decorate(Some);
  return Some;
}

/** A program of these controllers, and how a path of it is called. */
export async function start(
  module: DynamicModule | undefined,
  controllers: readonly Type[],
  { providers = [], setUp }: { providers?: Provider[]; setUp?: (app: NestExpressApplication) => unknown } = {},
) {
  const imports = module === undefined ? [] : [module];
  const program = { module: class {}, imports, controllers: [...controllers], providers };
  const app = await NestFactory.create<NestExpressApplication>(program, quiet);
  onTestFinished(() => app.close());
  setUp?.(app);
  await app.listen(0, "127.0.0.1");
  const url = await app.getUrl();
  return (path: string, init?: RequestInit) => fetch(url + path, init);
}

/** The limit that a path tells. */
export async function limitOf(get: (path: string) => Promise<Response>, path: string): Promise<string | null> {
  return (await get(path)).headers.get("ratelimit-policy");
}

export const api = '"api";q=2;w=60';
export const day = '"day";q=10;w=86400';
