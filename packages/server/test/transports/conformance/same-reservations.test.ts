import { expect, it } from "vitest";
import { rule } from "../../checks/fixtures.ts";
import { type ReservedCheck, type ReservingChannel, reservingChannels } from "./reserving-channels.ts";

/** Not aligned to the clock, which starts differently in each channel. */
const RATE = { endpoint_pattern: "/tokens", algorithm: "token_bucket" } as const;

const rules = [
  rule({ rule_id: "tokens", ...RATE, limit: 100, window_seconds: 3_600 }),
  rule({ rule_id: "address", ...RATE, dimension: "ip", limit: 20, window_seconds: 600 }),
  rule({
    rule_id: "streams",
    endpoint_pattern: "/streams",
    limit: 2,
    algorithm: "concurrency",
    window_seconds: null,
  }),
];

const CHECKS: readonly ReservedCheck[] = [
  { identifier: "42", dimension: "user", endpoint: "/tokens", cost: 30 },
  { identifier: "42", dimension: "user", endpoint: "/streams", cost: 1 },
  { identifier: "10.0.0.1", dimension: "ip", endpoint: "/tokens", cost: 2 },
  { identifier: "43", dimension: "user", endpoint: "/tokens", cost: 0 },
];

/**
 * The same calls every time, some of them wrong, repeated or with another client's key. Nothing expires: when that is
 * noticed depends on timers.
 */
async function play(channel: ReservingChannel): Promise<unknown[]> {
  let seed = 14;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % below;
  };
  const ids: string[] = ["none"];
  const said: unknown[] = [];
  for (let i = 0; i < 200; i += 1) {
    const id = ids[Math.max(0, ids.length - 1 - random(4))];
    const isStranger = random(6) === 0;
    const step = random(8);
    if (step < 3) {
      const checks = CHECKS.filter(() => random(2) === 0);
      const { id, ...answer } = await channel.reserve(checks, random(10) === 0 ? 0 : 3_600_000);
      if (id) ids.push(id);
      said.push(["reserve", answer]);
    } else if (step === 3)
      said.push(["extend", await channel.extend(id, [90_000, 3_600_000, 1][random(3)], isStranger)]);
    else if (step === 4) said.push(["release", await channel.release(id, isStranger)]);
    else if (step === 5) await channel.advance(random(4) * 10_000);
    else {
      const costs = [{}, { tokens: 5 }, { tokens: 40 }, { none: 1 }, { tokens: -1 }][random(5)];
      said.push(["settle", await channel.settle(id, costs, isStranger)]);
    }
  }
  return said;
}

it("every transport with reservations gives the same answers to the same calls", async () => {
  const said = new Map<string, unknown[]>();
  for (const [name, start] of Object.entries(reservingChannels)) said.set(name, await play(await start(rules)));
  const [first, ...others] = said.values();
  const text = JSON.stringify(first);
  for (const word of ["done", "denied", "invalid", "unknown", "settled"]) expect(text).toContain(`"${word}"`);
  expect(others).toHaveLength(1);
  for (const other of others) expect(other).toEqual(first);
});
