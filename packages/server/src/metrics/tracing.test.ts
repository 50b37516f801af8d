import { type SpanContext, type SpanOptions, type Tracer, trace } from "@opentelemetry/api";
import { afterEach, describe, expect, it } from "vitest";
import { checkResult } from "../../test/checks/results.ts";
import type { CheckRequest, CheckResult, CheckService } from "../checks/check.ts";
import { traced } from "./tracing.ts";

const REQUEST: CheckRequest = { identifier: "alice", dimension: "user", endpoint: "/orders", cost: 1 };
const DENIED = checkResult({ limits: [{ allowed: false, state: "throttled" }] });

function service(check: () => CheckResult | Promise<CheckResult>): CheckService {
  return {
    check,
    checkRule: check,
    peek: check,
    correct: async () => check(),
    reset: async () => ({ reset: [] }),
    close: async () => {},
  };
}

interface Recorded {
  readonly name: string;
  readonly attributes: Record<string, unknown>;
  status?: unknown;
}

/** What an SDK would do with spans: those that end are kept. */
class Recorder {
  readonly ended: Recorded[] = [];

  readonly tracer = {
    startSpan: (name: string, options: SpanOptions = {}) => {
      const recorded: Recorded = { name, attributes: { ...options.attributes } };
      const context: SpanContext = { traceId: "1".repeat(32), spanId: "1".repeat(16), traceFlags: 1 };
      const span = {
        spanContext: () => context,
        setAttribute: (key: string, value: unknown) => {
          recorded.attributes[key] = value;
        },
        setAttributes: (values: object) => Object.assign(recorded.attributes, values),
        setStatus: (status: unknown) => {
          recorded.status = status;
        },
        end: () => this.ended.push(recorded),
      };
      return span;
    },
  } as unknown as Tracer;
}

function listen(): Recorder {
  const recorder = new Recorder();
  trace.setGlobalTracerProvider({ getTracer: () => recorder.tracer });
  return recorder;
}

afterEach(() => trace.disable());

describe("traces", () => {
  it("cost nothing without a subscriber: the service is not wrapped", () => {
    const plain = service(() => DENIED);
    expect(traced(plain)).toBe(plain);
  });

  it.each([
    ["at once", () => DENIED],
    ["later", async () => DENIED],
  ])("contain what was decided %s, but not the identity", async (_when, decide) => {
    const recorder = listen();
    expect(await traced(service(decide)).check(REQUEST)).toBe(DENIED);
    expect(recorder.ended).toEqual([
      {
        name: "headgate.check",
        attributes: {
          "headgate.dimension": "user",
          "headgate.endpoint": "/orders",
          "headgate.cost": 1,
          "headgate.allowed": false,
          "headgate.rule": "orders",
          "headgate.source": "store",
          "headgate.state": "throttled",
        },
      },
    ]);
  });

  it("stay synchronous where the check is", () => {
    listen();
    expect(traced(service(() => DENIED)).peek(REQUEST)).toBe(DENIED);
  });

  it.each([
    [
      "thrown",
      () => {
        throw new TypeError("alice");
      },
    ],
    [
      "rejected",
      async () => {
        throw new TypeError("alice");
      },
    ],
  ])("report a failure that is %s, and pass it on", async (_how, fail) => {
    const recorder = listen();
    await expect((async () => traced(service(fail)).check(REQUEST))()).rejects.toThrow(TypeError);
    expect(recorder.ended).toMatchObject([{ name: "headgate.check", status: { code: 2, message: "TypeError" } }]);
    expect(JSON.stringify(recorder.ended)).not.toContain("alice");
  });
});
