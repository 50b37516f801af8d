import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { rateAlgorithms } from "../../../src/algorithms/lookup.ts";
import { type Answer, type ApplyOptions, fixedWindow, MemoryStore, type Operation } from "../../../src/index.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { PATIENCE_MS, useRedis } from "./redis.ts";
import { type Trial, trials } from "./trials.ts";

const names = rateAlgorithms.map(({ name }) => name);
const redis = useRedis();

describe("reservations in RedisStore against MemoryStore", patience, () => {
  it.each(names)("are answered and recorded the same to the bit: %s", (algorithm) =>
    fc.assert(fc.asyncProperty(trials(algorithm, names), fc.infiniteStream(fc.nat(9)), play), runs(60)),
  );
});

interface Held {
  readonly id: string;
  readonly operation: Operation;
}

/** Each tick settles some of the reservations and makes others; `choices` says which, and what they cost in the end. */
async function play({ rules, start, ticks }: Trial, choices: Iterator<number>): Promise<void> {
  const clock = new ManualClock();
  const memory = new MemoryStore({ clock, sweep: false });
  const store = redis.store({ clock });
  const choose = (): number => Number(choices.next().value);
  let held: Held[] = [];
  let now = start;
  let made = 0;
  const asked: { expected: readonly Answer[]; answers: Promise<readonly Answer[]> }[] = [];
  const ask = (action: "take" | "settle", operation: Operation, options: ApplyOptions): boolean => {
    const expected = memory.apply(action, [operation]);
    asked.push({ expected, answers: store.apply(action, [operation], options) });
    return expected[0].allowed;
  };
  for (const { move, asks } of ticks) {
    const isTime = move.to === "ticks" || move.to === "windows";
    const by = move.to === "windows" ? Math.floor(move.by * rules[0][0].window) : move.by;
    now = Math.max(0, Math.min(isTime ? now + by : now + 1, 2 ** 51));
    clock.set(now / 1000);
    // One limit for each rule: those with more than 2^50 parts have a script of their own.
    const tick = choose();
    const named = rules.map((limits, i) => ({ name: `rule${i}`, limit: limits[tick % limits.length] }));
    // Those that are settled come first, as in the script.
    const kept: Held[] = [];
    for (const one of held) {
      if (choose() < 5) kept.push(one);
      else {
        const { id, operation } = one;
        const reserved = { cost: operation.cost, until: now + 1_000 * (choose() - 2) };
        const end = { idempotencyKey: `${id}:end`, entry: { step: "end", id } } as const;
        const rule = named.find(({ name }) => name === operation.rule.name) ?? operation.rule;
        ask("settle", { ...operation, rule, cost: choose(), reserved }, end);
      }
    }
    for (const { parts } of asks) {
      const [{ rule, key }] = parts;
      const operation = { rule: named[rule], key, cost: choose() };
      const id = `${choose() % 2}${made}`;
      made += 1;
      const isAllowed = ask("take", operation, { entry: { step: "add", id, text: `text ${id}`, forMs: 60_000 } });
      if (isAllowed) kept.push({ id, operation });
    }
    held = kept;
    const answers = await Promise.all(asked.map((each) => each.answers));
    expect(answers).toStrictEqual(asked.map(({ expected }) => expected));
    asked.length = 0;
    for (const { operation } of held) {
      const peeked = [{ ...operation, cost: 0 }];
      expect(await store.apply("peek", peeked)).toStrictEqual(memory.apply("peek", peeked));
    }
    const listed = await store.journal.list(1_000);
    expect(listed.map(({ id, text }) => [id, text]).sort()).toEqual(held.map(({ id }) => [id, `text ${id}`]).sort());
  }
}

describe("reservations of one tick", patience, () => {
  const rule = { name: "tokens", limit: fixedWindow("100/d") };
  const add = (id: string) => ({ entry: { step: "add", id, text: `text of ${id}`, forMs: 60_000 } }) as const;
  const end = (id: string) => ({ idempotencyKey: `${id}:end`, entry: { step: "end", id } }) as const;
  const settling = { rule, key: "k", cost: 10, reserved: { cost: 40, until: 2 ** 52 } };

  it("are decided on their own if one of them is repeated, or its row is invalid", async () => {
    const prefix = redis.newPrefix();
    const store = redis.store({ prefix });
    const take = (key: string, id: string) => store.apply("take", [{ rule, key, cost: 40 }], add(id));
    await take("k", "a");
    await redis.client.rpush(`${prefix}:{list}:tokens:fixed_window`, "x");
    const results = await Promise.allSettled([
      take("k", "a"),
      take("k", "b"),
      take("list", "c"),
      take("k", "d"),
      take("other", "e"),
    ]);
    expect(
      results.map((result) => (result.status === "fulfilled" ? result.value[0].allowed : result.reason.code)),
    ).toEqual(["HG_STORE_TIMEOUT", true, "HG_STORE_REFUSED", false, true]);
    const listed = await store.journal.list(10);
    expect(listed.map(({ id }) => id).sort()).toEqual(["a", "b", "e"]);
    const [first, again] = await Promise.all([
      store.apply("settle", [settling], end("a")),
      store.apply("settle", [settling], end("a")),
    ]);
    expect(again).toEqual(first);
    const [repeated, [other]] = await Promise.all([
      store.apply("settle", [settling], end("a")),
      store.apply("settle", [settling], end("b")),
    ]);
    expect(repeated).toEqual(first);
    expect(other).toMatchObject({ remaining: 80 });
  });

  it.each(["psetex", "setrange", "set", "zadd", "hset"])("charge nothing if Redis refuses %s", async (command) => {
    const prefix = redis.newPrefix();
    const store = redis.store({ prefix });
    for (const id of ["a", "b"]) await store.apply("take", [{ rule, key: "k", cost: 40 }], add(id));
    await redis.server.ask("ACL", "SETUSER", `less-${command}`, "on", ">pw", "~*", "&*", "+@all", `-${command}`);
    const client = await redis.connect();
    await client.auth(`less-${command}`, "pw");
    const limited = redis.store({ prefix, timeoutMs: PATIENCE_MS }, client);
    const results = await Promise.allSettled([
      limited.apply("settle", [settling], end("a")),
      limited.apply("take", [{ rule, key: "k", cost: 1 }], add("c")),
      limited.apply("take", [{ rule, key: "new", cost: 1 }], add("d")),
    ]);
    const [settled, more, fresh] = results.map(({ status }) => status === "fulfilled");
    const peek = async (key: string) => (await store.apply("peek", [{ rule, key, cost: 0 }]))[0].remaining;
    expect(await peek("k")).toBe(20 + (settled ? 30 : 0) - (more ? 1 : 0));
    expect(await peek("new")).toBe(100 - (fresh ? 1 : 0));
    expect(results.some(({ status }) => status === "rejected")).toBe(true);
    const left = [settled ? [] : ["a"], "b", more ? ["c"] : [], fresh ? ["d"] : []].flat();
    expect((await store.journal.list(10)).map(({ id }) => id).sort()).toEqual(left);
  });
});
