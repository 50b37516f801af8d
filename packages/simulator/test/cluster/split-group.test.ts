import fc from "fast-check";
import { RedisStore } from "headgate/redis";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { patience, runs } from "headgate-testkit/repeated";
import { text } from "headgate-testkit/repository";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BeatReply } from "../../src/cluster/split-group.ts";
import { SplitGroups } from "../../src/cluster/split-groups.ts";

const LEASE = 400;
const SCRIPT = text("packages/core/src/wrappers/split/beat.lua");

/** A server, and users of it that may and may not ask for the id of its run. */
interface Real {
  readonly server: RedisServer;
  readonly store: RedisStore;
  readonly unprivileged: RedisStore;
  readonly run: string;
}

async function startReal(): Promise<Real> {
  const server = await startRedis();
  await server.ask("ACL", "SETUSER", "plain", "on", ">secret", "~*", "+@all", "-info");
  const run = /run_id:(\w+)/.exec(await server.ask("INFO", "server"))?.[1] ?? "";
  const options = { timeoutMs: 60_000 };
  const unprivileged = new RedisStore(`redis://plain:secret@127.0.0.1:${server.port}`, options);
  return { server, store: new RedisStore(server.url, options), unprivileged, run };
}

let reals: readonly Real[];
beforeAll(async () => {
  reals = await Promise.all([startReal(), startReal()]);
});
afterAll(async () => {
  for (const { store, unprivileged, server } of reals) {
    await Promise.all([store.close(), unprivileged.close()]);
    await server.stop();
  }
});

const who = fc.constantFrom("a", "b", "c", "d", "e");
const place = fc.integer({ min: 0, max: 5 }).chain((of) => {
  return fc.record({ of: fc.constant(of), rank: fc.nat({ max: Math.max(0, of - 1) }) });
});
const event = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant("beat" as const),
      who,
      /** Later than the one before, or not. */
      step: fc.oneof(
        { weight: 9, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.integer({ min: -2, max: 0 }) },
      ),
      lease: fc.oneof({ weight: 19, arbitrary: fc.constant(LEASE) }, { weight: 1, arbitrary: fc.constant(LEASE + 50) }),
      /** What it was granted last, nothing, or a claim that may contradict those of others. */
      held: fc.oneof(
        { weight: 7, arbitrary: fc.constant("granted" as const) },
        { weight: 2, arbitrary: fc.constant({ rank: 0, of: 0 }) },
        { weight: 1, arbitrary: place },
      ),
      isPrivileged: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    }),
  },
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.nat({ max: LEASE / 4 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.nat({ max: 4 * LEASE }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: -LEASE, max: -1 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("leave" as const), who }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("failover" as const) }) },
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

/** A group on the real servers and its twin, which are sent the same commands at the same times. */
class Pair {
  readonly #key: string;
  readonly #twin = new SplitGroups();
  readonly #numbers = new Map<string, number>();
  readonly #granted = new Map<string, { readonly rank: number; readonly of: number }>();
  #real = reals[0];
  #now = 1_700_000_000_000;
  /** How many places were granted: the comparison would prove nothing if none was. */
  grants = 0;

  constructor(key: string) {
    this.#key = key;
  }

  async happen(event: Event): Promise<void> {
    if (event.kind === "pass") this.#now += event.ms;
    else if (event.kind === "failover") await this.#failOver();
    else if (event.kind === "leave") {
      const command = ["HDEL", this.#key, `replica:${event.who}`];
      const reply = this.#twin.execute(command, this.#now, "");
      expect(reply).toBe(await this.#real.store.send(command, this.#key));
    } else await this.#beat(event);
    expect(this.#twin.fieldsOf(this.#key)).toEqual(await this.#fields());
  }

  async #beat({ who, step, lease, held, isPrivileged }: Event & { kind: "beat" }): Promise<void> {
    const number = Math.max(1, (this.#numbers.get(who) ?? 0) + step);
    this.#numbers.set(who, number);
    const { rank, of } = held === "granted" ? (this.#granted.get(who) ?? { rank: 0, of: 0 }) : held;
    const command = ["EVAL", SCRIPT, "1", this.#key, who, ...[number, lease, rank, of].map(String)];
    const { store, unprivileged, run } = this.#real;
    const reply = await (isPrivileged ? store : unprivileged).send([...command, String(this.#now)], this.#key);
    const twin = this.#twin.execute(command, this.#now, isPrivileged ? run : "") as BeatReply;
    expect(twin).toEqual(reply);
    this.#granted.set(who, { rank: twin[0], of: twin[1] });
    if (twin[1] > 0) this.grants += 1;
  }

  /** Another server, with another run, continues with a copy of the record. */
  async #failOver(): Promise<void> {
    const next = reals[(reals.indexOf(this.#real) + 1) % reals.length];
    const copy = await this.#real.store.send(["DUMP", this.#key], this.#key);
    if (Buffer.isBuffer(copy)) await next.store.send(["RESTORE", this.#key, "0", copy, "REPLACE"], this.#key);
    this.#real = next;
  }

  async #fields(): Promise<Record<string, string>> {
    const reply = await this.#real.store.send(["HGETALL", this.#key], this.#key);
    const flat = Array.isArray(reply) ? reply.map(String) : [];
    return Object.fromEntries(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1]]] : [])));
  }
}

describe("the twin of the script of split", patience, () => {
  it("replies and records the same as the script on a real server", async () => {
    let groups = 0;
    let grants = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 20, maxLength: 120 }), async (events) => {
        groups += 1;
        const pair = new Pair(`rl:{split:group ${groups}}`);
        for (const event of events) await pair.happen(event);
        grants += pair.grants;
      }),
      runs(150),
    );
    expect(grants).toBeGreaterThan(groups);
  });

  it.each([-1, 0, 1])("does so at the end of a lease, within a millisecond: %i", async (offset) => {
    const pair = new Pair(`rl:{split:at the end ${offset}}`);
    const pass = (ms: number): Promise<void> => pair.happen({ kind: "pass", ms });
    const beat = (who: "a" | "b"): Promise<void> =>
      pair.happen({ kind: "beat", who, step: 1, lease: LEASE, held: "granted", isPrivileged: true });
    await beat("a");
    for (let ms = 0; ms < LEASE; ms += LEASE / 4) {
      await beat("b");
      await pass(LEASE / 4);
    }
    await pass(LEASE / 10 + offset);
    await beat("b");
  });

  it("forgets a group after ten minutes, or three leases if those are longer", () => {
    const twin = new SplitGroups();
    const beat = (number: number, lease: number, now: number): unknown =>
      twin.execute(["EVAL", SCRIPT, "1", `of ${lease}`, "a", number, lease, 0, 0].map(String), now, "run");
    for (const [lease, expiry] of [
      [LEASE, 600_000],
      [300_000, 900_000],
    ]) {
      beat(1, lease, 0);
      // The number of an earlier heartbeat is known until the record has expired.
      expect(beat(1, lease, expiry)).toEqual([0, 0, 1, lease]);
      expect(twin.fieldsOf(`of ${lease}`)["group"]).toBe(`0 0 ${lease} run`);
      beat(1, lease, expiry + 1);
      expect(twin.fieldsOf(`of ${lease}`)["group"]).toBe(`${expiry + 1} ${expiry + 1} ${lease} run`);
    }
  });
});
