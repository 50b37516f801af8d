import fc from "fast-check";
import type { Decision } from "headgate";
import { describe, expect, it } from "vitest";
import type { CheckResult } from "../../../src/checks/check.ts";
import type { AppliedLimit } from "../../../src/rules/shared-counter.ts";
import {
  readBatch,
  readStreamed,
  writeBatch,
  writeQuota,
  writeStreamed,
} from "../../../src/transports/grpc/check-codec.ts";
import { rateLimiter } from "../../../src/transports/grpc/definition.ts";
import { decode, MalformedMessage, MessageWriter } from "../../../src/transports/grpc/message-codec.ts";
import {
  readBatchOf,
  readExtend,
  readReserve,
  readSettle,
  writeAnswers,
  writeErrors,
  writeExpiry,
  writeReserved,
} from "../../../src/transports/grpc/reservation-codec.ts";
import { checkResult, type DecidedLimit } from "../../checks/results.ts";
import {
  CheckRateLimitBatchRequest,
  CheckRateLimitBatchResponse,
  CheckRateLimitStreamRequest,
  CheckRateLimitStreamResponse,
  Dimension,
  ExtendBatchRequest,
  ExtendBatchResponse,
  GetRemainingQuotaResponse,
  type Origin,
  RateLimiterService,
  ReleaseBatchRequest,
  ReleaseBatchResponse,
  ReserveBatchRequest,
  ReserveBatchResponse,
  SettleBatchRequest,
  type Source,
  type UsageState,
} from "./generated/headgate/v1/rate_limiter.ts";

const text = fc.string({ unit: "binary", maxLength: 200 });
const whole = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constantFrom(0, 127, 128, 2 ** 28, 2 ** 32 - 1, 2 ** 32, 2 ** 35));
const signed = fc.oneof(whole, fc.maxSafeInteger(), fc.constantFrom(-1, -128, -(2 ** 32)));

const checks = fc.array(
  fc.record({
    identifier: text,
    dimension: fc.constantFrom(...Object.values(Dimension)),
    endpoint: text,
    cost: fc.option(signed, { nil: undefined }),
    timestamp: fc.option(signed, { nil: undefined }),
    idempotencyKey: text,
    withLimits: fc.boolean(),
    method: text,
    identities: fc.array(fc.record({ identifier: text, dimension: fc.constantFrom(...Object.values(Dimension)) }), {
      maxLength: 3,
    }),
  }),
  { maxLength: 5 },
);

const microseconds = fc.integer({ min: 0, max: 1e15 });

const limit: fc.Arbitrary<DecidedLimit> = fc.record({
  rule_id: text,
  name: text,
  allowed: fc.boolean(),
  limit: whole,
  burst: fc.integer({ min: 1e6, max: 1e12 }),
  window_seconds: fc.integer({ min: 1 }),
  remaining: fc.double({ min: 0, max: 1e6, noNaN: true }),
  time: microseconds,
  retryAfter: fc.oneof(microseconds, fc.constant(Number.POSITIVE_INFINITY)),
  resetAfter: microseconds,
  state: fc.constantFrom("normal", "warning", "throttled"),
  source: fc.constantFrom("store", "lease", "cache", "fallback"),
  degraded: fc.boolean(),
  origin: fc.constantFrom("rule", "tier", "custom", "override"),
  queue: fc.boolean(),
});

const result = fc
  .record({
    limits: fc.array(limit, { maxLength: 3 }),
    shadow: fc.array(limit, { maxLength: 3 }),
    skewMs: fc.option(fc.double({ min: -1e13, max: 1e13, noNaN: true }), { nil: undefined }),
    skewed: fc.boolean(),
  })
  .map(checkResult);

const error = fc.record({ index: fc.nat(), code: fc.nat(16), message: text, field: text });

const DIMENSIONS = [undefined, "user", "ip", "apikey"];
const STATES = { normal: 1, warning: 2, throttled: 3 } as const satisfies Record<string, UsageState>;
const SOURCES = { store: 1, lease: 2, cache: 3, fallback: 4 } as const satisfies Record<string, Source>;
const ORIGINS = { rule: 1, tier: 2, custom: 3, override: 4 } as const satisfies Record<string, Origin>;

function written(write: (writer: MessageWriter) => void): Buffer {
  const writer = new MessageWriter();
  return writer.encode(() => write(writer));
}

function statusOf(decision: Decision, { config, origin }: AppliedLimit) {
  const { retryAfterMs } = decision;
  return {
    ruleId: config.rule_id,
    name: config.name,
    allowed: decision.allowed,
    currentCount: decision.burst - Math.floor(decision.remaining),
    limit: decision.limit,
    burst: decision.burst,
    windowSeconds: config.window_seconds,
    remaining: Math.floor(decision.remaining),
    resetAtMs: decision.resetAtMs,
    retryAfterMs: retryAfterMs === Number.POSITIVE_INFINITY ? -1 : Math.ceil(retryAfterMs),
    state: STATES[decision.state],
    source: SOURCES[decision.source],
    degraded: decision.degraded,
    origin: ORIGINS[origin],
    queuePosition: Math.ceil(decision.queuePosition),
    delayMs: Math.ceil(decision.delayMs),
    identifier: "",
    dimension: Dimension.DIMENSION_UNSPECIFIED,
  };
}

function quotaOf({ allowed, verdict, shadow, plan }: CheckResult) {
  const limits = (verdict?.decisions ?? []).map((decision, i) => statusOf(decision, plan.enforced[i]));
  const told = limits[verdict?.decisions.indexOf(verdict.deciding) ?? 0];
  const wait = told?.retryAfterMs ?? 0;
  return {
    allowed,
    currentCount: told?.currentCount ?? 0,
    limit: told?.limit ?? 0,
    remaining: told?.remaining ?? 0,
    resetAt: Math.ceil((told?.resetAtMs ?? 0) / 1000),
    retryAfter: wait === -1 ? -1 : Math.ceil(wait / 1000),
    resetAtMs: told?.resetAtMs ?? 0,
    retryAfterMs: wait,
    ruleId: told?.ruleId ?? "",
    state: told?.state ?? 0,
    source: told?.source ?? 0,
    degraded: told?.degraded ?? false,
    queuePosition: told?.queuePosition ?? 0,
    delayMs: told?.delayMs ?? 0,
    limits,
    shadowLimits: shadow.map((decision, i) => statusOf(decision, plan.shadow[i])),
    notApplied: plan.slots.map(({ config }) => config.rule_id),
  };
}

function answerOf(result: CheckResult, withLimits: boolean) {
  const quota = quotaOf(result);
  return {
    ...quota,
    ...(withLimits ? {} : { limits: [], shadowLimits: [] }),
    skewMs: result.skewMs === undefined ? undefined : Math.round(result.skewMs) + 0,
    skewed: result.skewed,
  };
}

const id = text;
const reservations = fc.record({
  reserve: fc.array(
    fc.record({
      checks: fc.array(
        fc.record({
          identifier: text,
          dimension: fc.constantFrom(...Object.values(Dimension)),
          endpoint: text,
          cost: fc.option(signed, { nil: undefined }),
          method: text,
        }),
        { maxLength: 3 },
      ),
      forMs: fc.option(signed, { nil: undefined }),
      maxWaitMs: signed,
      idempotencyKey: text,
    }),
    { maxLength: 3 },
  ),
  extend: fc.array(fc.record({ reservationId: id, forMs: signed }), { maxLength: 3 }),
  // Generated code keeps the costs in an object, which cannot have this key.
  settle: fc.array(
    fc.record({
      reservationId: id,
      costs: fc.dictionary(
        text.filter((rule) => rule !== "__proto__"),
        signed,
      ),
    }),
    { maxLength: 3 },
  ),
});

/** A reservation as the service returns it. */
const reservation = fc.record({
  id: text.filter((id) => id !== ""),
  owner: fc.constant("shop"),
  madeAtMs: fc.constant(0),
  deadlineMs: fc.nat(),
  checks: fc.array(
    fc.record({
      rule: text,
      key: fc.tuple(fc.constantFrom("user", "ip", "apikey"), text).map((parts) => parts.join(":")),
      cost: whole,
      spent: fc.constant(undefined),
      isSlots: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
});

describe("our own codec", () => {
  it("reads reservations that generated code writes", () => {
    fc.assert(
      fc.property(reservations, ({ reserve, extend, settle }) => {
        const reserving = ReserveBatchRequest.encode({ reservations: reserve }).finish();
        expect(decode(readBatchOf(readReserve), reserving)).toEqual(
          reserve.map(({ checks, forMs = 60_000, maxWaitMs, idempotencyKey }) => ({
            checks: checks.map(({ identifier, dimension, endpoint, cost = 1, method }) =>
              expect.objectContaining({
                identifier,
                dimension: DIMENSIONS[dimension],
                endpoint,
                cost,
                method: method === "" ? undefined : method,
              }),
            ),
            forMs,
            maxWaitMs,
            idempotencyKey: idempotencyKey === "" ? undefined : idempotencyKey,
          })),
        );
        const extending = ExtendBatchRequest.encode({ reservations: extend }).finish();
        expect(decode(readBatchOf(readExtend), extending)).toEqual(
          extend.map(({ reservationId, forMs }) => ({ id: reservationId, forMs, costs: {} })),
        );
        const settling = SettleBatchRequest.encode({ reservations: settle }).finish();
        expect(decode(readBatchOf(readSettle), settling)).toEqual(
          settle.map(({ reservationId, costs }) => ({ id: reservationId, forMs: 0, costs: { ...costs } })),
        );
        const releasing = ReleaseBatchRequest.encode({ reservations: settle }).finish();
        expect(decode(readBatchOf(readSettle), releasing).map(({ id }) => id)).toEqual(
          settle.map(({ reservationId }) => reservationId),
        );
      }),
    );
  });

  it("writes reservations that generated code reads", () => {
    const made = fc.array(
      fc.option(fc.record({ result, reservation: fc.option(reservation, { nil: undefined }) }), { nil: undefined }),
      { maxLength: 3 },
    );
    const expiries = fc.array(fc.option(whole, { nil: undefined }), { maxLength: 3 });
    fc.assert(
      fc.property(made, expiries, fc.array(error, { maxLength: 3 }), (made, expiries, errors) => {
        const batch = written((writer) => writeAnswers(made, errors, writer, writeReserved));
        const expected = made.map((one) => {
          if (one === undefined) {
            return { allowed: false, reservationId: "", expiresAtMs: 0, reserved: [], decision: undefined };
          }
          const { result, reservation } = one;
          const held = result.allowed ? reservation : undefined;
          return {
            allowed: result.allowed,
            reservationId: held?.id ?? "",
            expiresAtMs: held?.deadlineMs ?? 0,
            reserved: (held?.checks ?? []).map(({ rule, key, cost, isSlots }) => ({
              ruleId: rule,
              identifier: key.slice(key.indexOf(":") + 1),
              dimension: DIMENSIONS.indexOf(key.slice(0, key.indexOf(":"))),
              cost,
              slots: isSlots,
            })),
            decision: answerOf(result, true),
          };
        });
        expect(ReserveBatchResponse.decode(batch)).toEqual({ responses: expected, errors });
        const extended = written((writer) => writeAnswers(expiries, errors, writer, writeExpiry));
        expect(ExtendBatchResponse.decode(extended)).toEqual({
          responses: expiries.map((expiresAtMs = 0) => ({ expiresAtMs })),
          errors,
        });
        expect(ReleaseBatchResponse.decode(written((writer) => writeErrors(errors, writer)))).toEqual({ errors });
      }),
    );
  });

  it("reads what generated code writes", () => {
    fc.assert(
      fc.property(text, checks, (correlationId, checks) => {
        const expected = checks.map(({ dimension, cost, idempotencyKey, method, identities, ...check }) => ({
          ...check,
          dimension: DIMENSIONS[dimension],
          cost: cost ?? 1,
          idempotencyKey: idempotencyKey === "" ? undefined : idempotencyKey,
          method: method === "" ? undefined : method,
          identities:
            identities.length === 0
              ? undefined
              : identities.map(({ identifier, dimension }) => ({ identifier, dimension: DIMENSIONS[dimension] })),
        }));
        expect(decode(readBatch, CheckRateLimitBatchRequest.encode({ checks }).finish()).checks).toEqual(
          expected.map((check) => expect.objectContaining(check)),
        );
        const streamed = CheckRateLimitStreamRequest.encode({ correlationId, checks }).finish();
        expect(decode(readStreamed, streamed)).toMatchObject({ correlationId, checks: expected });
      }),
    );
  });

  it("writes what generated code reads", () => {
    const answers = fc.array(fc.option(fc.record({ result, withLimits: fc.boolean() }), { nil: undefined }), {
      maxLength: 4,
    });
    fc.assert(
      fc.property(text, answers, fc.array(error, { maxLength: 3 }), (correlationId, answers, errors) => {
        const nothing = { ...CheckRateLimitBatchResponse.decode(Buffer.from([0x0a, 0])).responses[0] };
        const responses = answers.map((answer) =>
          answer === undefined ? nothing : answerOf(answer.result, answer.withLimits),
        );
        const batch = written((writer) => writeBatch(answers, errors, writer));
        expect(CheckRateLimitBatchResponse.decode(batch)).toEqual({ responses, errors });
        const streamed = written((writer) => writeStreamed(correlationId, answers, errors, writer));
        expect(CheckRateLimitStreamResponse.decode(streamed)).toEqual({ correlationId, responses, errors });
        for (const answer of answers) {
          if (answer === undefined) continue;
          const quota = written((writer) => writeQuota(answer.result, writer));
          expect(GetRemainingQuotaResponse.decode(quota)).toEqual(quotaOf(answer.result));
        }
      }),
    );
  });

  it("refuses a check that runs over the end of its place in the batch", () => {
    // Field 1 of the batch is three bytes long, and the identifier in it claims to be four.
    const bytes = Buffer.from([0x0a, 3, 0x0a, 4, 0x61, 0x0a, 2, 0x10, 1]);
    expect(() => decode(readBatch, bytes)).toThrow(MalformedMessage);
  });

  it("defines the methods that the proto file does", () => {
    const shape = ({ path, requestStream, responseStream }: (typeof rateLimiter)[keyof typeof rateLimiter]) => {
      return { path, requestStream, responseStream };
    };
    const generated = Object.entries(RateLimiterService).map(([name, { path, requestStream, responseStream }]) => {
      return [name, { path, requestStream, responseStream }];
    });
    expect(Object.entries(rateLimiter).map(([name, method]) => [name, shape(method)])).toEqual(generated);
  });

  it("never fails on any bytes but by saying that they are malformed", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        const readers = [
          readBatch,
          readStreamed,
          readBatchOf(readReserve),
          readBatchOf(readExtend),
          readBatchOf(readSettle),
        ];
        for (const reading of readers) {
          try {
            decode<unknown>(reading, bytes);
          } catch (error) {
            expect(error).toMatchObject({ name: "MalformedMessage" });
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
