import * as fc from "fast-check";

/** One request about slots, some time after the one before it, or before it if the clock is set back. */
export interface SlotRequest {
  readonly action: "take" | "extend" | "release" | "peek" | "reset";
  readonly id: string;
  readonly cost: number;
  readonly forUs: number;
  readonly limit: number;
  readonly advance: number;
}

const SECOND = 1_000_000;

/** Few reservations and short times, so that leases end, overlap, and are released late. */
export const slotTraffic = fc.array(
  fc.record({
    action: fc.constantFrom<SlotRequest["action"]>(
      ...(["take", "take", "take", "take", "extend", "extend", "release", "release", "peek"] as const),
      "reset",
    ),
    id: fc.constantFrom("a", "b", "c", "d", "e", "f", "g"),
    cost: fc.constantFrom(1, 1, 1, 1, 2, 3, 0, 6),
    forUs: fc.oneof(fc.constantFrom(1, SECOND, 10 * SECOND), fc.integer({ min: 1, max: 20 * SECOND })),
    limit: fc.constantFrom(4, 4, 4, 4, 4, 2, 5, 100),
    advance: fc.oneof(
      fc.constantFrom(0, 0, 0, 1, SECOND, 10 * SECOND),
      fc.integer({ min: 0, max: 5 * SECOND }),
      fc.integer({ min: -15 * SECOND, max: 30 * SECOND }),
    ),
  }),
  { minLength: 1, maxLength: 40 },
);
