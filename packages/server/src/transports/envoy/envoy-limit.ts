import { fixedWindow, type Limit, limitFromSpec, type Rule } from "headgate";
import type { Consistency } from "../../rules/rule.ts";
import { type CallLimit, UNITS, type Unit } from "./descriptor.ts";
import type { RateLimitInput } from "./envoy-config-schema.ts";

/** Whether a denied request is counted, too. */
type Charge = "always" | "if_it_fits";

/** A limit of a descriptor in a configuration file. */
export interface ConfiguredLimit {
  /** The descriptor's place in the configuration, as in `mongo_cps.database_users`: its name in metrics and headers. */
  readonly path: string;
  /** Given to be replaced by other limits; empty if it has none. */
  readonly name: string;
  readonly replaces: readonly string[];
  readonly requestsPerUnit: number;
  /** Undefined if the window is not a unit. */
  readonly unit: Unit | undefined;
  readonly windowSeconds: number;
  /** Whether its windows start at whole multiples of their length. */
  readonly isAligned: boolean;
  /** Undefined if there is nothing to count, because everything is admitted. */
  readonly rule: Rule | undefined;
  /** The limit of the call, if it is not the rule's. */
  readonly ownLimit?: Limit;
  readonly isUnlimited: boolean;
  readonly isShadow: boolean;
  /** Whether it denies only if all limits in quota mode do. */
  readonly isQuota: boolean;
  readonly charge: Charge;
  readonly consistency: Consistency;
}

/** More limits than callers use. Beyond it, the cache is cleared. */
const MOST_CALL_LIMITS = 10_000;

/** Limits that callers give with their requests, by unit and number. Each unit has its own counters. */
export class CallLimitCache {
  private readonly known = new Map<string, ConfiguredLimit>();
  private readonly rules = new Map<Unit, Rule>();

  of({ requestsPerUnit, unit }: CallLimit): ConfiguredLimit {
    const id = `${requestsPerUnit} ${unit}`;
    const known = this.known.get(id);
    if (known !== undefined) return known;
    if (this.known.size >= MOST_CALL_LIMITS) this.known.clear();
    const made = this.make(requestsPerUnit, unit);
    this.known.set(id, made);
    return made;
  }

  private make(requestsPerUnit: number, unit: Unit): ConfiguredLimit {
    const { seconds } = UNITS[unit];
    const stated = {
      path: "envoy.call",
      name: "",
      replaces: [],
      requestsPerUnit,
      unit,
      windowSeconds: seconds,
      isAligned: true,
      isUnlimited: false,
      isShadow: false,
      isQuota: false,
      charge: "always",
      consistency: "strict",
    } as const;
    const ownLimit = fixedWindow({ limit: countedLimit(requestsPerUnit), windowMs: seconds * 1000 });
    const rule = this.rules.get(unit) ?? {
      name: stated.path,
      counter: counterOf(seconds),
      limit: ownLimit,
      onError: "local",
    };
    this.rules.set(unit, rule);
    return { ...stated, rule, ownLimit };
  }
}

/** Whether nothing fits. What is charged is still counted: limits with the same window share the counter. */
export function isBlocked({ requestsPerUnit, isUnlimited }: ConfiguredLimit): boolean {
  return requestsPerUnit === 0 && !isUnlimited;
}

/** No store has limits of 0. Those are counted under a limit of 1, and denied by `BlockingStore`. */
function countedLimit(requestsPerUnit: number): number {
  return Math.max(1, requestsPerUnit);
}

/** The name of a window's counters in stores. All limits with the same window share them, whatever they come from. */
function counterOf(windowSeconds: number): string {
  return `envoy:${windowSeconds}`;
}

/** Throws a HeadgateError if the algorithm does not accept the fields. */
export function configuredLimit(
  path: string,
  input: RateLimitInput,
  modes: { readonly isShadow: boolean; readonly isQuota: boolean },
): ConfiguredLimit {
  const { unit, requests_per_unit: requestsPerUnit, algorithm, on_error: onError, consistency } = input;
  const windowSeconds = input.window_seconds ?? (unit === undefined ? 1 : UNITS[unit].seconds);
  const limit = input.unlimited ? undefined : limitOf(input, windowSeconds);
  return {
    path,
    name: input.name ?? "",
    replaces: input.replaces.map(({ name }) => name),
    requestsPerUnit,
    unit,
    windowSeconds,
    isAligned: algorithm === undefined,
    rule: limit && { name: path, counter: counterOf(windowSeconds), limit, onError },
    isUnlimited: input.unlimited,
    ...modes,
    // A bucket or a log that is charged for denials locks out clients that keep retrying.
    charge: input.charge ?? (algorithm === undefined ? "always" : "if_it_fits"),
    consistency,
  };
}

function limitOf({ algorithm, requests_per_unit, burst }: RateLimitInput, window: number): Limit {
  const limit = countedLimit(requests_per_unit);
  const fixed = fixedWindow({ limit, windowMs: window * 1000 });
  if (algorithm === undefined && burst === undefined) return fixed;
  return limitFromSpec({
    algorithm: algorithm ?? fixed.algorithm,
    limit,
    window,
    ...(burst !== undefined && { burst }),
  });
}
