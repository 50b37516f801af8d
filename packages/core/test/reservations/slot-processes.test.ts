import { connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { ForkedProcess } from "headgate-testkit/forked-process";
import { startRedis } from "headgate-testkit/redis-server";
import { afterAll, describe, expect, it } from "vitest";
import { concurrency, type Limiter, rateLimiter } from "../../src/index.ts";
import { RedisStore } from "../../src/redis.ts";
import { PATIENCE_MS, useRedis } from "../stores/redis/redis.ts";

const redis = useRedis();
const FOR_MS = 1_500;
const LIMIT = 2;
/** A task that does not work for so long was frozen, or did not get its turn. */
const PAUSE_MS = 700;

interface Message {
  readonly task?: string;
  readonly at?: number;
  readonly aborted?: string;
  readonly code?: string;
  readonly ready?: boolean;
  readonly stopped?: boolean;
}

/** What the processes have reported. */
class Report {
  /** When each task worked. */
  readonly work = new Map<string, number[]>();
  /** With which code each task that was told to stop was told so. */
  readonly aborted: (string | undefined)[] = [];

  hear({ task, at = 0, aborted, code }: Message): void {
    if (aborted !== undefined) this.aborted.push(code);
    if (task === undefined) return;
    const times = this.work.get(task);
    if (times === undefined) this.work.set(task, [at]);
    else times.push(at);
  }

  /** How many tasks worked at the same time, at most. */
  get most(): number {
    const changes = [...this.work.values()].flatMap((times) => {
      return times.flatMap((at, i) => {
        const next = times[i + 1] ?? at;
        return next > at && next - at < PAUSE_MS
          ? [
              { at, by: 1 },
              { at: next, by: -1 },
            ]
          : [];
      });
    });
    changes.sort((a, b) => a.at - b.at || a.by - b.by);
    let [running, most] = [0, 0];
    for (const { by } of changes) {
      running += by;
      most = Math.max(most, running);
    }
    return most;
  }
}

const children: ForkedProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill();
});

async function start(report: Report, prefix: string, name: string): Promise<ForkedProcess> {
  const args = [redis.server.url, prefix, name, String(LIMIT), String(FOR_MS)];
  const child = new ForkedProcess(new URL("slot-worker.mjs", import.meta.url), args);
  children.push(child);
  child.onMessage<Message>((message) => report.hear(message));
  await child.next<Message>(({ ready }) => ready === true);
  return child;
}

describe("tasks of several processes", () => {
  it("are never more than the slots, while processes are frozen past their leases and killed", async () => {
    const prefix = redis.newPrefix();
    const report = new Report();
    const [frozen, killed, other] = await Promise.all(["x", "y", "z"].map((name) => start(report, prefix, name)));
    /** Waits until a task of the process works, and does something in the middle of it. */
    const during = async (name: string, act: () => void): Promise<void> => {
      const before = report.work.size;
      await eventually(`a task of ${name} works`, async () =>
        [...report.work.keys()].slice(before).some((task) => task.startsWith(name)),
      );
      act();
    };
    await during("x", () => frozen.pause());
    const worked = report.work.size;
    await eventually("others use the slots", async () => report.work.size > worked + 4);
    await delay(FOR_MS);
    frozen.resume();
    await eventually("it learns that it has lost them", async () => report.aborted.length > 0);
    await during("y", () => killed.kill());
    await eventually("others use the slots", async () => report.work.size > worked + 12);
    const stopped = [frozen, other].map((child) => child.next<Message>(({ stopped }) => stopped === true));
    for (const child of [frozen, other]) child.send("stop");
    await Promise.all(stopped);
    expect(report.most).toBe(LIMIT);
    expect(new Set(report.aborted)).toEqual(new Set(["HG_RESERVATION_LOST"]));
    const limiter = rateLimiter({ slots: concurrency(LIMIT) }, { store: redis.store({ prefix }) });
    await eventually("all slots are back", async () => (await limiter.peek("slots", "team")).inUse === 0);
  });
});

/** A server in front of one of two others, as clients see it that follow a failover. */
async function proxyTo(port: number): Promise<{ port: number; target: number; close(): void }> {
  const sockets = new Set<Socket>();
  const proxy = { port: 0, target: port, close: () => {} };
  const server = createServer((client) => {
    const upstream = connect(proxy.target, "127.0.0.1");
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ]) {
      sockets.add(from);
      from.on("error", () => {});
      from.on("close", () => to.destroy());
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  proxy.port = typeof address === "object" && address !== null ? address.port : 0;
  proxy.close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return proxy;
}

describe("after a failover to a replica", () => {
  it("as many more tasks run as there were slots that it had not received, until they are extended", async () => {
    const [primary, replica] = await Promise.all([startRedis(), startRedis()]);
    const proxy = await proxyTo(primary.port);
    const newStore = () => new RedisStore(`redis://127.0.0.1:${proxy.port}`, { timeoutMs: PATIENCE_MS });
    const stores = [newStore(), newStore(), newStore()];
    const limiters = stores.map((store) => rateLimiter({ slots: concurrency(4) }, { store }));
    let running = 0;
    let most = 0;
    const end = new AbortController();
    const run = (limiter: Limiter<{ slots: ReturnType<typeof concurrency> }>) => {
      const task = (signal: AbortSignal): Promise<void> => {
        running += 1;
        most = Math.max(most, running);
        return new Promise((resolve) => {
          const stop = (): void => {
            running -= 1;
            resolve();
          };
          AbortSignal.any([signal, end.signal]).addEventListener("abort", stop, { once: true });
        });
      };
      return limiter.run("slots", "team", task, { forMs: 10_000 });
    };
    const [first, second, third] = limiters;
    await replica.ask("REPLICAOF", "127.0.0.1", String(primary.port));
    void run(first);
    void run(first);
    await eventually("two run", async () => running === 2);
    const inUse = async (): Promise<number | undefined> => (await third.peek("slots", "team")).inUse;
    await eventually("the replica has their slots", async () => {
      const [keys, other] = await Promise.all([primary, replica].map((server) => server.ask("DBSIZE")));
      return keys !== "0" && keys === other;
    });
    await replica.ask("REPLICAOF", "NO", "ONE");
    void run(second);
    void run(second);
    await eventually("four run", async () => running === 4);
    expect((await run(third)).ran).toBe(false);
    proxy.target = replica.port;
    await primary.kill();
    await eventually("the replica answers", async () => (await inUse()) === 2);
    const late = [run(third), run(third), run(third)];
    await eventually("the replica has given its slots", async () => (await inUse()) === 4);
    expect(most).toBe(6);
    await eventually("those that it had not received are lost", async () => running === 4);
    expect(await inUse()).toBe(4);
    end.abort();
    const ran = (await Promise.all(late)).map((result) => result.ran);
    expect(ran.filter(Boolean)).toHaveLength(2);
    await Promise.all(stores.map((store) => store.close()));
    proxy.close();
    await Promise.all([primary.stop(), replica.stop()]);
  });
});
