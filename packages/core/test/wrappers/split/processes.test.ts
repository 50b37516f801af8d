import { eventually } from "headgate-testkit/eventually";
import { ForkedProcess } from "headgate-testkit/forked-process";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const LIMIT = 120;
const settings = { limit: LIMIT, windowMs: 500, beatMs: 200, leaseMs: 1000 };

/** What a replica reports after a request. */
interface Told {
  readonly window: number;
  readonly admitted: number;
  /** By how much its share had grown before it. */
  readonly raised: number;
  /** Whether it had not run for longer than its lease. */
  readonly stoodStill: boolean;
  readonly failure?: string;
}

class ReplicaProcess {
  readonly told: Told[] = [];
  readonly process: ForkedProcess;
  private readonly totals = new Map<number, { admitted: number; raised: number }>();

  constructor(url: string) {
    this.process = new ForkedProcess(new URL("replica.mjs", import.meta.url), [JSON.stringify({ url, ...settings })]);
    this.process.onMessage((told: Told) => {
      const { admitted, raised } = this.in(told.window);
      this.totals.set(told.window, { admitted: admitted + told.admitted, raised: raised + told.raised });
      this.told.push(told);
    });
  }

  in(window: number): { admitted: number; raised: number } {
    return this.totals.get(window) ?? { admitted: 0, raised: 0 };
  }

  get windows(): number[] {
    return [...this.totals.keys()];
  }
}

let server: RedisServer;
const replicas: ReplicaProcess[] = [];
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  for (const { process } of replicas) process.kill();
  await server.stop();
});

function start(): ReplicaProcess {
  const replica = new ReplicaProcess(server.url);
  replicas.push(replica);
  return replica;
}

function allIn(window: number): { admitted: number; raised: number } {
  const all = replicas.map((replica) => replica.in(window));
  const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
  return { admitted: sum(all.map(({ admitted }) => admitted)), raised: sum(all.map(({ raised }) => raised)) };
}

/** A window comes in which no share changes, and each of these lets an even part of the limit pass. */
async function sharedEvenly(what: string, ...among: readonly ReplicaProcess[]): Promise<void> {
  const from = Math.max(0, ...replicas.flatMap(({ windows }) => windows));
  const isEven = (window: number): boolean =>
    window > from &&
    allIn(window).raised === 0 &&
    among.every((replica) => replica.in(window).admitted === LIMIT / among.length);
  await eventually(what, async () => among[0].windows.some(isEven));
}

describe("replicas in separate processes", () => {
  it("admit the limit together, while one is killed, one is frozen and one joins", async () => {
    const [a, b, c, d] = [start(), start(), start(), start()];
    await sharedEvenly("four have a quarter each", a, b, c, d);

    a.process.kill();
    await sharedEvenly("three have a third each", b, c, d);

    b.process.pause();
    await sharedEvenly("two have a half each", c, d);
    const before = b.told.length;
    b.process.resume();
    await eventually("it runs again", async () => b.told.length > before);
    expect(b.told[before]).toMatchObject({ stoodStill: true, admitted: 0, failure: "HG_STORE_UNREACHABLE" });
    await sharedEvenly("three have a third each again", b, c, d);

    const e = start();
    await sharedEvenly("four have a quarter each again", b, c, d, e);

    // What was used stays used, so a window may see as much more as shares grew in it. Where none did, the limit holds.
    for (const window of new Set(replicas.flatMap(({ windows }) => windows))) {
      const { admitted, raised } = allIn(window);
      expect(admitted).toBeLessThanOrEqual(LIMIT + raised);
    }
  });
});
