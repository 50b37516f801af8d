import type { Registry } from "prom-client";
import type { WrongKeys } from "../access/wrong-keys.ts";
import type { StoreStats } from "../checks/counter-stores.ts";
import type { UserDataCache } from "../checks/user-data-cache.ts";
import { foldCounter, foldGauge, type Series } from "../metrics/derived-metrics.ts";
import type { OpenReservations, ReservationFigures } from "../metrics/reservation-figures.ts";
import type { RollupWriter } from "../metrics/rollup-writer.ts";
import type { RulesInForce } from "./active-rules.ts";

export interface NodeParts {
  readonly rules: Pick<RulesInForce, "catalogue" | "isStale">;
  readonly stores: { readonly stats: StoreStats };
  readonly userDataCache: Pick<UserDataCache, "stats">;
  readonly rollups: Pick<RollupWriter, "dropped">;
  readonly wrongKeys: Pick<WrongKeys, "counts">;
  readonly reservations: Pick<ReservationFigures, "open" | "cleanedUp">;
  /** Log lines that could not be written. */
  readonly lostLogLines: () => number;
}

/** Metrics of the parts of a node, read when scraped. */
export function addFigures(registry: Registry, parts: NodeParts): void {
  const { rules, stores, userDataCache, rollups, lostLogLines, wrongKeys, reservations } = parts;
  const { stats } = stores;
  const gauge = (name: string, help: string, value: () => number): void =>
    foldGauge(registry, `headgate_${name}`, help, [], () => [[{}, value()]]);
  const counter = (name: string, help: string, value: () => number): void =>
    foldCounter(registry, `headgate_${name}_total`, help, [], () => [[{}, value()]]);

  gauge("rules", "Rules in force.", () => rules.catalogue.rules.length);
  gauge("rules_stale", "1 while the rules cannot be read and the previous ones stay in force.", () =>
    rules.isStale ? 1 : 0,
  );
  counter(
    "user_lookup_failures",
    "Failed attempts to read a user from the database.",
    () => userDataCache.stats.failures,
  );
  foldCounter(registry, "headgate_user_lookup_fallbacks_total", "Checks decided without the database.", ["by"], () => [
    [{ by: "last_known" }, userDataCache.stats.lastKnown],
    [{ by: "default" }, userDataCache.stats.unknown],
  ]);
  counter("rollups_dropped", "Usage figures discarded because the database was unreachable.", () => rollups.dropped);
  foldCounter(registry, "headgate_wrong_keys_total", "Wrong API keys.", ["outcome"], () =>
    Object.entries(wrongKeys.counts).map(([outcome, count]): Series => [{ outcome }, count]),
  );
  counter("log_lines_lost", "Log lines that could not be written.", lostLogLines);
  addStoreFigures(registry, stats, gauge, counter);
  addReservationFigures(registry, reservations);
}

/** There are no values while the store does not answer. */
function addReservationFigures(registry: Registry, figures: NodeParts["reservations"]): void {
  const gauge = (name: string, help: string, labels: string[], read: (open: OpenReservations) => Series[]): void =>
    foldGauge(registry, `headgate_${name}`, help, labels, () => (figures.open === undefined ? [] : read(figures.open)));
  const byRule = (counts: ReadonlyMap<string, number>): Series[] =>
    Array.from(counts, ([rule, count]): Series => [{ rule }, count]);

  gauge("reservations", "Reservations that have not ended, of all nodes.", [], ({ count }) => [[{}, count]]);
  gauge("oldest_reservation_seconds", "Age of the oldest reservation.", [], ({ oldestSeconds }) => [
    [{}, oldestSeconds],
  ]);
  gauge("reserved_units", "Units that are reserved, on all nodes.", ["rule"], ({ units }) => byRule(units));
  gauge("slots_in_use", "Slots that reservations hold, on all nodes.", ["rule"], ({ slots }) => byRule(slots));
  foldCounter(
    registry,
    "headgate_reservations_cleaned_up_total",
    "Reservations that this node ended because they were not extended.",
    [],
    () => [[{}, figures.cleanedUp]],
  );
}

type Add = (name: string, help: string, value: () => number) => void;

function addStoreFigures(registry: Registry, stats: StoreStats, gauge: Add, counter: Add): void {
  const { memoryKeys, resilient, cached, leased, split } = stats;
  if (memoryKeys !== undefined) gauge("memory_keys", "Keys counted in memory.", memoryKeys);
  if (resilient !== undefined) {
    gauge("store_breaker_open", "1 while the store is considered down.", () => (resilient.breaker === "open" ? 1 : 0));
    counter("store_calls", "Calls to the store.", () => resilient.calls);
    foldCounter(registry, "headgate_fallbacks_total", "Decisions made without the store.", ["policy"], () =>
      Object.entries(resilient.fallbacks).map(([policy, count]): Series => [{ policy }, count]),
    );
    counter(
      "caller_deadlines",
      "Checks decided without the store because their caller could not wait for store_timeout.",
      () => resilient.callerDeadlines,
    );
    counter(
      "fallbacks_while_answering",
      "Fallbacks for calls during which the store answered others: a sign that store_timeout is too short.",
      () => resilient.fallbacksWhileAnswering,
    );
  }
  if (cached !== undefined) {
    gauge("cached_pending_units", "Units admitted and not yet written to the store.", () => cached().pendingUnits);
    gauge("cached_limited_keys", "Keys known here to be limited.", () => cached().limitedKeys);
    gauge(
      "cached_over_admission_units",
      "Units that this node may admit above a limit.",
      () => cached().overAdmissionBound,
    );
    gauge(
      "cached_timer_lag_seconds",
      "The longest delay of a flush timer in the last seconds.",
      () => cached().worstTimerLagMs / 1000,
    );
    counter("cached_confirmed", "Checks of cached rules that the store decided.", () => cached().confirmed);
    counter("cached_failed_flushes", "Flushes that failed.", () => cached().failedFlushes);
  }
  if (split !== undefined) {
    gauge(
      "split_nodes",
      "Nodes among which limits are split; 0 if this node has not joined.",
      () => split()?.replicas ?? 0,
    );
    counter(
      "split_lapses",
      "How often this node lost its share because Redis did not answer.",
      () => split()?.lapses ?? 0,
    );
  }
  if (leased !== undefined) {
    gauge("leases", "Keys that this node holds leases for.", () => leased().leases);
    gauge("lease_held_units", "Units held by this node.", () => leased().held);
    counter("lease_denied", "Requests denied by leases without asking the store.", () => leased().denied);
    counter("lease_round_trips", "Calls of leases to the store.", () => leased().roundTrips);
    foldCounter(registry, "headgate_lease_units_total", "What became of leased units.", ["what"], () => {
      const { granted, spent, returned, burnt, lent } = leased();
      return Object.entries({ granted, spent, returned, burnt, lent }).map(
        ([what, units]): Series => [{ what }, units],
      );
    });
  }
}
