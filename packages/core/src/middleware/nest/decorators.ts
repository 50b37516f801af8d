import {
  applyDecorators,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Inject,
  Injectable,
  SetMetadata,
  type Type,
  UseGuards,
} from "@nestjs/common";
import { HeadgateError, shown } from "../../errors.ts";
import type { MaybePromise } from "../../limiter/maybe-promise.ts";
import type { Rules } from "../../limiter/rules.ts";
import { stated } from "../../options.ts";
import type { Passed } from "../admission.ts";
import { type GuardRules, type Limited, MiddlewareGuard, type RateLimitOptions } from "./guard.ts";
import { COMMON, type Common } from "./nest-common.ts";
import type { NestRequest } from "./nest-http.ts";

/** Marks targets that have a decorator of their own. */
const DECORATED = Symbol("headgate:decorated");

/**
 * Limits the routes of a controller, or one route: `@RateLimit("api")`, `@RateLimit(["burst", "day"], { by: "user" })`.
 * Rules on a method replace those on the controller, and rules on a controller replace those of the module.
 */
export function RateLimit<Request extends NestRequest = NestRequest>(
  rules: GuardRules<Request>,
  options: RateLimitOptions<Request> = {},
): ClassDecorator & MethodDecorator {
  if (typeof options !== "object" || options === null) {
    throw new HeadgateError("HG_BAD_OPTION", "options", `must be an object, got ${shown(options)}`);
  }
  return <T>(target: object, key?: string | symbol, descriptor?: TypedPropertyDescriptor<T>): void => {
    const guard = guardOf(rules, options, descriptor === undefined);
    applyDecorators(SetMetadata(DECORATED, true), UseGuards(guard))(target, key, descriptor);
  };
}

/** Exempts a controller, or one route, from inherited limits. */
export function SkipRateLimit(): ClassDecorator & MethodDecorator {
  return SetMetadata(DECORATED, true);
}

/** Injects the result of the check into a parameter of a handler. */
export const Admitted: () => ParameterDecorator = createParamDecorator(
  (_: unknown, context: ExecutionContext): Passed | undefined => context.switchToHttp().getRequest<Limited>().rateLimit,
);

export function isDecorated(target: object): boolean {
  return Reflect.hasMetadata(DECORATED, target);
}

/** Creates one guard per decorator. Nest instantiates it at start-up, so configuration errors surface there. */
function guardOf<Request extends NestRequest>(
  rules: GuardRules<Request>,
  own: RateLimitOptions<Request>,
  onClass: boolean,
): Type<CanActivate> {
  class RateLimitGuard extends MiddlewareGuard<Request> {
    constructor({ limiter, options }: Common<Rules, Request>) {
      super(limiter, rules, { ...options, ...stated(own) });
    }

    override canActivate(context: ExecutionContext): MaybePromise<boolean> {
      return (onClass && isDecorated(context.getHandler())) || super.canActivate(context);
    }
  }
  Inject(COMMON)(RateLimitGuard, undefined, 0);
  Injectable()(RateLimitGuard);
  return RateLimitGuard;
}
