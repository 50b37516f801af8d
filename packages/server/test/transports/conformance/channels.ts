import { Redis } from "ioredis";
import type { Transport } from "../../../src/metrics/telemetry.ts";
import type { RateLimitRule } from "../../../src/rules/rule.ts";
import { userData, world } from "../../checks/fixtures.ts";
import { authorize, type RateLimitResponse, servedEnvoy, shouldRateLimit } from "../envoy/fixtures.ts";
import { finallyDo } from "../finally-do.ts";
import { call, check as grpcCheck, served as grpcServed } from "../grpc/fixtures.ts";
import { Source, UsageState } from "../grpc/generated/headgate/v1/rate_limiter.ts";
import { served as respServed } from "../resp/fixtures.ts";
import { startService } from "../rest/service.ts";

/** A check under one rule: transports that name an endpoint use the rule's pattern. */
export interface Asked {
  readonly rule: RateLimitRule;
  readonly identifier: string;
  readonly cost: number;
}

/** What every transport reports about a decision, in one form. Times are relative, because the clocks start differently. */
export interface Said {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly currentCount: number;
  readonly resetInMs: number;
  readonly retryAfterMs: number;
  readonly ruleId: string;
  readonly state: string;
  readonly source: string;
  readonly degraded: boolean;
}

/** A transport of a service with rules, on a memory store and a clock that the test moves. */
interface Channel {
  check(asked: Asked): Promise<Said>;
  advance(ms: number): Promise<void>;
}

/** A user of this tier, and one without. */
export const GOLD = "gold-user";

type StartChannel = (rules: readonly RateLimitRule[]) => Promise<Channel>;

/** One for each transport that names our rules: a transport without a line here does not compile. */
export const channels: Readonly<Record<Exclude<Transport, "envoy">, StartChannel>> = {
  async rest(rules) {
    const service = await startService({ rules });
    finallyDo(() => service.stop());
    await service.database.users.setTier(GOLD, "gold", { id: "system", name: "test" });
    return {
      advance: (ms) => service.clock.advance(ms),
      async check({ rule, identifier, cost }) {
        const { dimension, endpoint_pattern: endpoint } = rule;
        const { body } = await service.ask("POST", "/api/v1/check", {
          body: { identifier, dimension, endpoint, cost },
        });
        return saidOf(body, service.clock.now() / 1000);
      },
    };
  },

  async grpc(rules) {
    const made = await inTheSecondSecond(rules);
    const { client, clock } = await grpcServed(rules, { world: made });
    return {
      advance: (ms) => clock.advance(ms),
      async check({ rule, identifier, cost }) {
        const { endpoint_pattern: endpoint } = rule;
        const answer = await call(client, client.checkRateLimit, grpcCheck({ identifier, endpoint, cost }));
        const { allowed, limit, remaining, currentCount, retryAfterMs, ruleId, degraded } = answer;
        return {
          allowed,
          limit,
          remaining,
          currentCount,
          resetInMs: answer.resetAtMs - clock.now() / 1000,
          retryAfterMs,
          ruleId,
          state: nameOf(UsageState, answer.state, "USAGE_STATE_"),
          source: nameOf(Source, answer.source, "SOURCE_"),
          degraded,
        };
      },
    };
  },

  async resp(rules) {
    const { port, clock, users } = await respServed({ rules });
    users.set(GOLD, userData(GOLD, { tier: "gold" }));
    await clock.advance(1_000);
    const client = new Redis({ port, password: "check-key" });
    finallyDo(() => client.disconnect());
    return {
      advance: (ms) => clock.advance(ms),
      async check({ rule, identifier, cost }) {
        const reply = await client.call("HG.CHECK", rule.rule_id, identifier, "COST", cost);
        return saidOf(fieldsOf(reply), clock.now() / 1000);
      },
    };
  },
};

/** What Envoy's rate limit service can say about a decision. */
export type SaidToEnvoy = Pick<Said, "allowed" | "limit" | "remaining">;

/** Envoy's rate limit service states limits by descriptors: here `<rule id>=<identifier>`, with the limits of the rules. */
export async function envoyChannel(
  rules: readonly RateLimitRule[],
): Promise<{ check(asked: Asked): Promise<SaidToEnvoy>; advance(ms: number): Promise<void> }> {
  const descriptors = rules.map(({ rule_id: key, limit, window_seconds, algorithm }) => ({
    key,
    rate_limit: { requests_per_unit: limit, window_seconds, algorithm, charge: "if_it_fits" },
  }));
  const made = await inTheSecondSecond([]);
  const file = JSON.stringify({ domain: "rules", descriptors });
  const { address, clock } = await servedEnvoy({ files: { "rules.yaml": file }, world: made });
  return {
    advance: (ms) => clock.advance(ms),
    async check({ rule: { rule_id: key }, identifier, cost }) {
      const descriptor = { entries: [{ key, value: identifier }], hits_addend: { value: cost } };
      const asked = { domain: "rules", descriptors: [descriptor] };
      const { overall_code, statuses } = await shouldRateLimit<RateLimitResponse>(address, asked);
      const [{ current_limit, limit_remaining = 0 }] = statuses;
      return {
        allowed: overall_code === "OK",
        limit: Number(current_limit?.requests_per_unit),
        remaining: limit_remaining,
      };
    },
  };
}

/** What a proxy learns of a decision: whether to pass the request on, and the headers for the client. */
export type SaidToProxy = Pick<Said, "allowed" | "remaining" | "ruleId">;

interface ProxyChannel {
  check(asked: Asked): Promise<SaidToProxy>;
  advance(ms: number): Promise<void>;
}

interface AuthorizedByEnvoy {
  readonly ok_response?: { readonly response_headers_to_add: readonly EnvoyHeader[] };
  readonly denied_response?: { readonly status: { readonly code: number }; readonly headers: readonly EnvoyHeader[] };
}

interface EnvoyHeader {
  readonly header: { readonly key: string; readonly value: string };
}

/** The ways in which a proxy has its requests authorized under the rules. */
export const proxyChannels: Readonly<Record<string, (rules: readonly RateLimitRule[]) => Promise<ProxyChannel>>> = {
  async "the auth route"(rules) {
    const service = await startService({ rules });
    finallyDo(() => service.stop());
    await service.database.users.setTier(GOLD, "gold", { id: "system", name: "test" });
    return {
      advance: (ms) => service.clock.advance(ms),
      async check({ rule: { dimension, endpoint_pattern: endpoint }, identifier, cost }) {
        const headers = {
          "x-headgate-identifier": identifier,
          "x-headgate-dimension": dimension,
          "x-headgate-endpoint": endpoint,
          "x-headgate-cost": String(cost),
        };
        const answer = await service.ask("GET", "/api/v1/auth", { headers });
        return saidToProxy(answer.status === 204, answer.status, answer.headers.get("ratelimit"));
      },
    };
  },

  async ext_authz(rules) {
    const made = await inTheSecondSecond(rules);
    const { address, clock } = await servedEnvoy({ world: made });
    return {
      advance: (ms) => clock.advance(ms),
      async check({ rule: { dimension, endpoint_pattern: path }, identifier, cost }) {
        const { ok_response, denied_response } = await authorize<AuthorizedByEnvoy>(address, {
          attributes: {
            request: { http: { method: "GET", path, headers: { "x-id": identifier } } },
            context_extensions: { dimension, identifier_header: "x-id", cost: String(cost) },
          },
        });
        const headers = ok_response?.response_headers_to_add ?? denied_response?.headers ?? [];
        const limit = headers.find(({ header: { key } }) => key === "RateLimit")?.header.value;
        return saidToProxy(denied_response === undefined, denied_response?.status.code ?? 204, limit ?? null);
      },
    };
  },
};

/** `RateLimit: "rule";r=3;t=5`. */
function saidToProxy(allowed: boolean, status: number, rateLimit: string | null): SaidToProxy {
  if (status !== (allowed ? 204 : 429)) throw new Error(`answered ${status}`);
  const [, ruleId, remaining] = /^"([^"]+)";r=(\d+)/.exec(rateLimit ?? "") ?? [];
  return { allowed, ruleId, remaining: Number(remaining) };
}

/** The name of a number, as other transports write it. */
function nameOf(names: Readonly<Record<string, number>>, value: number, prefix: string): string {
  const [name = ""] = Object.entries(names).find(([, number]) => number === value) ?? [];
  return name.replace(prefix, "").toLowerCase();
}

/** As the clock of REST in tests starts. */
async function inTheSecondSecond(rules: readonly RateLimitRule[]) {
  const made = await world(rules);
  made.users.set(GOLD, userData(GOLD, { tier: "gold" }));
  await made.clock.advance(1_000);
  return made;
}

/** Names and values alternate. */
function fieldsOf(reply: unknown): Readonly<Record<string, unknown>> {
  if (!Array.isArray(reply)) throw new Error(`expected a list, got ${reply}`);
  return Object.fromEntries(reply.flatMap((item, i) => (i % 2 === 0 ? [[String(item), reply[i + 1]]] : [])));
}

function saidOf(fields: Readonly<Record<string, unknown>>, nowMs: number): Said {
  const { allowed, limit, remaining, current_count, reset_at_ms, retry_after_ms, ...more } = fields;
  const { rule_id, state, source, degraded } = more;
  return {
    allowed: Boolean(allowed),
    limit: Number(limit),
    remaining: Number(remaining),
    currentCount: Number(current_count),
    resetInMs: Number(reset_at_ms) - nowMs,
    retryAfterMs: Number(retry_after_ms),
    ruleId: String(rule_id),
    state: String(state),
    source: String(source),
    degraded: Boolean(degraded),
  };
}
