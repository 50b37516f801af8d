import type { ReservationService } from "../checks/reservation-service.ts";

/** How many reservations are counted: with more, the figures are those of the ones that expire next. */
const MOST_COUNTED = 10_000;

/** Reservations that have not ended, of all nodes that share the store. */
export interface OpenReservations {
  readonly count: number;
  /** Age of the oldest one, in seconds; 0 if there is none. */
  readonly oldestSeconds: number;
  /** Units reserved, by rule. */
  readonly units: ReadonlyMap<string, number>;
  /** Slots in use, by rule. */
  readonly slots: ReadonlyMap<string, number>;
}

/** Figures about reservations. The store is asked from time to time, not when the figures are read. */
export class ReservationFigures {
  readonly #reservations: Pick<ReservationService, "list" | "cleanedUp">;
  readonly #nowMs: () => number;
  /** Undefined if the store did not answer, or was not asked. */
  open: OpenReservations | undefined;

  /** `nowMs`: by the store's clock. */
  constructor(reservations: Pick<ReservationService, "list" | "cleanedUp">, nowMs: () => number) {
    this.#reservations = reservations;
    this.#nowMs = nowMs;
  }

  /** How many reservations this node has ended because they were not extended. */
  get cleanedUp(): number {
    return this.#reservations.cleanedUp;
  }

  async refresh(): Promise<void> {
    try {
      this.open = this.#figuresOf(await this.#reservations.list(MOST_COUNTED));
    } catch (error) {
      this.open = undefined;
      throw error;
    }
  }

  #figuresOf(all: Awaited<ReturnType<ReservationService["list"]>>): OpenReservations {
    const units = new Map<string, number>();
    const slots = new Map<string, number>();
    let oldest = Number.POSITIVE_INFINITY;
    for (const { madeAtMs, checks } of all) {
      oldest = Math.min(oldest, madeAtMs);
      for (const { rule, cost, isSlots } of checks) {
        const counts = isSlots ? slots : units;
        counts.set(rule, (counts.get(rule) ?? 0) + cost);
      }
    }
    const oldestSeconds = all.length === 0 ? 0 : Math.max(0, this.#nowMs() - oldest) / 1000;
    return { count: all.length, oldestSeconds, units, slots };
  }
}
