import { type BatchObservableCallback, type Meter, metrics } from "@opentelemetry/api";
import { afterEach, expect, it } from "vitest";
import { checkResult } from "../../test/checks/results.ts";
import { NodeTelemetry } from "./node-telemetry.ts";
import { observeNode } from "./opentelemetry-metrics.ts";

afterEach(() => metrics.disable());

/** What an SDK would do with observable instruments: it reads them when it exports. */
class Recorder {
  readonly callbacks = new Set<BatchObservableCallback>();

  constructor() {
    const instrument = (name: string) => ({ name });
    const meter = {
      createObservableCounter: instrument,
      createObservableGauge: instrument,
      addBatchObservableCallback: (callback: BatchObservableCallback) => this.callbacks.add(callback),
      removeBatchObservableCallback: (callback: BatchObservableCallback) => this.callbacks.delete(callback),
    };
    metrics.setGlobalMeterProvider({ getMeter: () => meter as unknown as Meter });
  }

  read(): Record<string, number> {
    const seen: Record<string, number> = {};
    for (const callback of this.callbacks) {
      void callback({
        observe(instrument, value, attributes = {}) {
          const { name } = instrument as unknown as { name: string };
          seen[[name, ...Object.values(attributes)].join(" ")] = value;
        },
      });
    }
    return seen;
  }
}

it("offers the figures of a node, and ends with it", () => {
  const recorder = new Recorder();
  const telemetry = new NodeTelemetry();
  const open = { count: 2, oldestSeconds: 20, units: new Map([["tokens", 400]]), slots: new Map([["streams", 1]]) };
  const end = observeNode(telemetry, {}, { open, cleanedUp: 3 });
  const request = { identifier: "alice", dimension: "user", endpoint: "/orders", cost: 1 } as const;
  telemetry.decided(request, checkResult({ limits: [{ allowed: false, state: "throttled" }] }), 0.001);
  telemetry.counted("namespace:shop", true, "lease", 3);
  telemetry.storeFailed("HG_STORE_TIMEOUT");
  const seen = recorder.read();
  expect(seen).toMatchObject({
    "headgate.rate_limiting.requests namespace:shop lease allowed": 3,
    "headgate.store.errors HG_STORE_TIMEOUT": 1,
    "headgate.rate_limiting.identities any": 0,
    "headgate.reservations.open": 2,
    "headgate.reservations.oldest_age": 20,
    "headgate.reservations.reserved_units tokens": 400,
    "headgate.reservations.slots_in_use streams": 1,
    "headgate.reservations.cleaned_up": 3,
  });
  expect(Object.keys(seen).filter((name) => name.endsWith("store denied"))).toHaveLength(1);
  expect(JSON.stringify(seen)).not.toContain("alice");
  end();
  expect(recorder.read()).toEqual({});
});

it("does nothing without an SDK", () => {
  expect(() => observeNode(new NodeTelemetry(), {}, { open: undefined, cleanedUp: 0 })()).not.toThrow();
});
