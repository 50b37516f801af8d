import { type BatchObservableResult, metrics } from "@opentelemetry/api";
import type { StoreStats } from "../checks/counter-stores.ts";
import { SOURCES } from "./decision-counts.ts";
import type { NodeTelemetry } from "./node-telemetry.ts";
import type { ReservationFigures } from "./reservation-figures.ts";

const POLICY = "headgate.rate_limiting.policy";
const RESULT = "headgate.rate_limiting.result";
const SOURCE = "headgate.rate_limiting.source";

/**
 * Offers the figures of a node to OpenTelemetry, which reads them when it exports. Without an SDK, nothing happens.
 * Returns a function that ends it.
 */
export function observeNode(
  telemetry: NodeTelemetry,
  { resilient }: StoreStats,
  reservations: Pick<ReservationFigures, "open" | "cleanedUp">,
): () => void {
  const meter = metrics.getMeter("headgate");
  const requests = meter.createObservableCounter("headgate.rate_limiting.requests", {
    description: "Decisions by policy (the rule), result and source.",
    unit: "{request}",
  });
  const trialDenied = meter.createObservableCounter("headgate.rate_limiting.denied_by_trial", {
    description: "Requests that rules in shadow mode would have denied.",
    unit: "{request}",
  });
  const identities = meter.createObservableGauge("headgate.rate_limiting.identities", {
    description: "Different identities in the checks of the last whole minute (estimate).",
    unit: "{identity}",
  });
  const storeErrors = meter.createObservableCounter("headgate.store.errors", {
    description: "Calls that the store did not answer.",
    unit: "{call}",
  });
  const breaker = meter.createObservableGauge("headgate.store.breaker_open", {
    description: "1 while the store is considered down.",
  });
  const open = meter.createObservableGauge("headgate.reservations.open", {
    description: "Reservations that have not ended, of all nodes.",
    unit: "{reservation}",
  });
  const oldest = meter.createObservableGauge("headgate.reservations.oldest_age", {
    description: "Age of the oldest reservation.",
    unit: "s",
  });
  const units = meter.createObservableGauge("headgate.reservations.reserved_units", {
    description: "Units that are reserved, on all nodes.",
    unit: "{unit}",
  });
  const slots = meter.createObservableGauge("headgate.reservations.slots_in_use", {
    description: "Slots that reservations hold, on all nodes.",
    unit: "{slot}",
  });
  const cleanedUp = meter.createObservableCounter("headgate.reservations.cleaned_up", {
    description: "Reservations that this node ended because they were not extended.",
    unit: "{reservation}",
  });
  const ofReservations = [open, oldest, units, slots, cleanedUp];
  const instruments = [requests, trialDenied, identities, storeErrors, breaker, ...ofReservations];

  const observeReservations = (result: BatchObservableResult): void => {
    result.observe(cleanedUp, reservations.cleanedUp);
    if (reservations.open === undefined) return;
    result.observe(open, reservations.open.count);
    result.observe(oldest, reservations.open.oldestSeconds);
    for (const [rule, count] of reservations.open.units) result.observe(units, count, { [POLICY]: rule });
    for (const [rule, count] of reservations.open.slots) result.observe(slots, count, { [POLICY]: rule });
  };

  const observe = (result: BatchObservableResult): void => {
    for (const [rule, { allowed, denied, shadowDenied }] of telemetry.tally.rules) {
      for (const [i, source] of SOURCES.entries()) {
        const attributes = { [POLICY]: rule, [SOURCE]: source };
        if (allowed[i] > 0) result.observe(requests, allowed[i], { ...attributes, [RESULT]: "allowed" });
        if (denied[i] > 0) result.observe(requests, denied[i], { ...attributes, [RESULT]: "denied" });
      }
      if (shadowDenied > 0) result.observe(trialDenied, shadowDenied, { [POLICY]: rule });
    }
    const { any, above } = telemetry.identities.lastMinute();
    result.observe(identities, any, { usage: "any" });
    result.observe(identities, above, { usage: "above_80" });
    for (const [code, count] of telemetry.storeErrors) result.observe(storeErrors, count, { "error.type": code });
    if (resilient !== undefined) result.observe(breaker, resilient.breaker === "open" ? 1 : 0);
    observeReservations(result);
  };

  meter.addBatchObservableCallback(observe, instruments);
  return () => meter.removeBatchObservableCallback(observe, instruments);
}
