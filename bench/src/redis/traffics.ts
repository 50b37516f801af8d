import type { Reading } from "./readings.ts";

/** A kind of traffic, its limit, and the figures to report. */
export interface Traffic {
  readonly about: string;
  readonly keys: number;
  /** Number of checks in flight at any time. */
  readonly inFlight: number;
  readonly limit: number;
  readonly windowMs: number;
  /** Number of limits per check, if several; otherwise one. */
  readonly limits: number | undefined;
  readonly denied: boolean;
  readonly readings: readonly Reading[];
}

const ALLOWED = { keys: 100_000, limit: 1_000_000, windowMs: 60_000, denied: false } as const;

function atOnce(inFlight: number): Traffic {
  return {
    ...ALLOWED,
    about: inFlight === 1 ? "One check after the other." : `${inFlight} checks in flight.`,
    inFlight,
    limits: undefined,
    readings: ["rate", "p50", "p99", "client", "redis"],
  };
}

function held(limits: number): Traffic {
  return {
    ...ALLOWED,
    about: `64 checks in flight, each held against ${limits === 1 ? "one limit" : `${limits} limits`}.`,
    inFlight: 64,
    limits,
    readings: ["rate", "client", "redis"],
  };
}

const denied: Traffic = {
  about: "64 checks in flight, for 50 keys that are over their limit: every check is a denial.",
  keys: 50,
  inFlight: 64,
  limit: 5,
  // Long enough that no quota returns during the measurement.
  windowMs: 3_600_000,
  limits: undefined,
  denied: true,
  readings: ["rate", "client"],
};

export const traffics: Readonly<Record<string, Traffic>> = {
  "1-at-once": atOnce(1),
  "64-at-once": atOnce(64),
  "256-at-once": atOnce(256),
  "limits-1": held(1),
  "limits-2": held(2),
  "limits-4": held(4),
  denied,
};
