import { algorithms } from "headgate";
import { expect, it } from "vitest";
import { rule } from "../../checks/fixtures.ts";
import {
  type Asked,
  channels,
  envoyChannel,
  GOLD,
  proxyChannels,
  type Said,
  type SaidToEnvoy,
  type SaidToProxy,
} from "./channels.ts";

const ALGORITHMS = Object.values(algorithms).filter(({ traits }) => !("releasable" in traits));

/** A rule of each algorithm, one for a tier on the same counter, and one that charges by cost. */
const rules = [
  ...ALGORITHMS.map(({ name }) =>
    rule({ rule_id: name, endpoint_pattern: `/${name}`, algorithm: name, limit: 5, window_seconds: 10 }),
  ),
  rule({ rule_id: "tiered", endpoint_pattern: "/tiered", limit: 2, window_seconds: 30 }),
  rule({ rule_id: "tiered-gold", endpoint_pattern: "/tiered", limit: 6, window_seconds: 30, tier: "gold" }),
];

/** The same traffic every time: bursts, pauses, costs, peeks, and a cost that never fits. */
function* traffic(): Generator<Asked & { readonly pauseMs: number }> {
  let seed = 15;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % below;
  };
  for (let i = 0; i < 150; i += 1) {
    yield {
      rule: rules[random(rules.length)],
      identifier: random(3) === 0 ? GOLD : "42",
      cost: [1, 1, 1, 2, 0, 5, 9][random(7)],
      pauseMs: random(4) === 0 ? random(4_000) : 0,
    };
  }
}

it("every transport gives the same decisions for the same traffic", async () => {
  const said = new Map<string, Said[]>();
  for (const [name, start] of Object.entries(channels)) {
    const channel = await start(rules);
    const heard: Said[] = [];
    for (const { pauseMs, ...asked } of traffic()) {
      await channel.advance(pauseMs);
      heard.push(await channel.check(asked));
    }
    said.set(name, heard);
  }
  const [first, ...others] = said.values();
  expect(first.filter(({ allowed }) => !allowed).length).toBeGreaterThan(10);
  expect(first.filter(({ allowed }) => allowed).length).toBeGreaterThan(10);
  expect(new Set(first.map(({ state }) => state))).toEqual(new Set(["normal", "warning", "throttled"]));
  expect(others.length).toBeGreaterThanOrEqual(2);
  for (const other of others) expect(other).toEqual(first);
});

it("Envoy's rate limit service decides the same traffic alike, where limits do not depend on tiers", async () => {
  const untiered = rules.filter(({ rule_id }) => !rule_id.startsWith("tiered"));
  const rest = await channels.rest(untiered);
  const envoy = await envoyChannel(untiered);
  const said: SaidToEnvoy[] = [];
  const heard: SaidToEnvoy[] = [];
  for (const { pauseMs, ...asked } of traffic()) {
    await rest.advance(pauseMs);
    await envoy.advance(pauseMs);
    if (!untiered.includes(asked.rule)) continue;
    const { allowed, limit, remaining } = await rest.check(asked);
    said.push({ allowed, limit, remaining: Math.floor(remaining) });
    heard.push(await envoy.check(asked));
  }
  expect(said.filter(({ allowed }) => !allowed).length).toBeGreaterThan(10);
  expect(heard).toEqual(said);
});

it.each(Object.entries(proxyChannels))("%s decides the same traffic alike", async (_, start) => {
  const rest = await channels.rest(rules);
  const proxy = await start(rules);
  const said: SaidToProxy[] = [];
  const heard: SaidToProxy[] = [];
  for (const { pauseMs, ...asked } of traffic()) {
    await rest.advance(pauseMs);
    await proxy.advance(pauseMs);
    const { allowed, remaining, ruleId } = await rest.check(asked);
    said.push({ allowed, remaining: Math.floor(remaining), ruleId });
    heard.push(await proxy.check(asked));
  }
  expect(said.filter(({ allowed }) => !allowed).length).toBeGreaterThan(10);
  expect(heard).toEqual(said);
});
