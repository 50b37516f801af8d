import {
  type CanActivate,
  type DynamicModule,
  type ExecutionContext,
  type FactoryProvider,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
} from "@nestjs/common";
import type { Limiter } from "../../limiter/limiter.ts";
import type { MaybePromise } from "../../limiter/maybe-promise.ts";
import type { RuleName, Rules } from "../../limiter/rules.ts";
import { type MiddlewareOptions, requireMiddlewareOptions } from "../middleware-options.ts";
import { isDecorated } from "./decorators.ts";
import { RateLimitFilter } from "./denied-exception.ts";
import { MiddlewareGuard, type RateLimitOptions } from "./guard.ts";
import { COMMON, type Common } from "./nest-common.ts";
import type { NestRequest } from "./nest-http.ts";

/** The limiter, and default options for all decorators. */
export interface RateLimitModuleOptions<R extends Rules = Rules, Request = NestRequest>
  extends RateLimitOptions<Request> {
  /** A limiter created by `rateLimiter`. */
  readonly limiter: Limiter<R>;
  /** Rules of all routes without a decorator. Default: none. */
  readonly rules?: MiddlewareOptions<NoInfer<RuleName<R>>, Request>["rules"] | undefined;
}

/** Options that depend on other providers, such as a configuration or a Redis client. */
export interface RateLimitModuleAsyncOptions<R extends Rules = Rules, Request = NestRequest>
  extends Pick<ModuleMetadata, "imports"> {
  /** Providers that are passed to `useFactory`. */
  readonly inject?: FactoryProvider["inject"] | undefined;
  /** Returns the options of `forRoot`, or a promise of them. */
  readonly useFactory: FactoryProvider<RateLimitModuleOptions<R, Request>>["useFactory"];
}

/** The tokens of `@nestjs/core`. */
const APP_GUARD = "APP_GUARD";
const APP_FILTER = "APP_FILTER";

/** Import it once, in the root module, with `forRoot` or `forRootAsync`. */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows modules by their classes
export class RateLimitModule {
  /** Limits all routes with the given limiter and rules, and enables `@RateLimit` and `@SkipRateLimit`. */
  static forRoot<R extends Rules, Request extends NestRequest = NestRequest>(
    options: RateLimitModuleOptions<R, Request>,
  ): DynamicModule {
    return RateLimitModule.forRootAsync({ useFactory: () => options });
  }

  /** Like `forRoot`, with options that depend on other providers. */
  static forRootAsync<R extends Rules, Request extends NestRequest = NestRequest>({
    imports = [],
    inject = [],
    useFactory,
  }: RateLimitModuleAsyncOptions<R, Request>): DynamicModule {
    return {
      module: RateLimitModule,
      global: true,
      imports,
      providers: [
        { provide: COMMON, inject, useFactory: async (...injected) => commonOf(await useFactory(...injected)) },
        { provide: APP_GUARD, useClass: EveryRouteGuard },
        { provide: APP_FILTER, useClass: RateLimitFilter },
      ],
      exports: [COMMON],
    };
  }
}

Module({})(RateLimitModule);

function commonOf<R extends Rules, Request>(given: RateLimitModuleOptions<R, Request>): Common<R, Request> {
  const { limiter, rules, ...options } = given;
  requireMiddlewareOptions({ rules: [], ...options }, ["onDenied"]);
  return { limiter, rules, options };
}

/** Limits the routes without a decorator. */
class EveryRouteGuard implements CanActivate {
  readonly #guard: MiddlewareGuard<NestRequest> | undefined;

  constructor({ limiter, rules, options }: Common<Rules, NestRequest>) {
    if (rules !== undefined) this.#guard = new MiddlewareGuard(limiter, rules, options);
  }

  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    const isElsewhere = context.getType() !== "http";
    if (
      this.#guard === undefined ||
      isElsewhere ||
      isDecorated(context.getHandler()) ||
      isDecorated(context.getClass())
    ) {
      return true;
    }
    return this.#guard.canActivate(context);
  }
}

Inject(COMMON)(EveryRouteGuard, undefined, 0);
Injectable()(EveryRouteGuard);
