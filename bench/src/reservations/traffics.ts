/** A kind of step, the keys it uses, and how many of them are in flight. */
export interface Traffic {
  readonly name: string;
  readonly kind: "settle" | "slots";
  readonly about: string;
  readonly keys: number;
  readonly inFlight: number;
  readonly limit: number;
}

function settle(inFlight: number): Traffic {
  const about = `Reserve and settle, or two checks of a peer, for 10,000 keys, ${inFlight} in flight.`;
  return { name: `settle-${inFlight}`, kind: "settle", about, keys: 10_000, inFlight, limit: 1_000_000 };
}

function slots(inFlight: number): Traffic {
  const about = `Take a slot and return it, for 100 keys with 1,000 slots each, ${inFlight} in flight.`;
  return { name: `slots-${inFlight}`, kind: "slots", about, keys: 100, inFlight, limit: 1_000 };
}

export const traffics: readonly Traffic[] = [settle(16), settle(256), slots(16), slots(256)];

/** Slots that are held for a while. They are extended four times in their time. */
export const HELD = { name: "held-10k", slots: 10_000, keys: 1_000, forMs: 8_000, intervals: 3 } as const;
