import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "headgate-testkit/repository";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CounterReply, type CounterRequest, durableObjects } from "../../src/durable-object.ts";
import { concurrency, type Store, tokenBucket } from "../../src/index.ts";
import { ManualClock } from "../../src/testing/index.ts";
import { ask, operation, remaining, rule } from "../stores/conformance/context.ts";
import { longRate } from "../stores/conformance/subjects.ts";
import { storeConformance } from "../stores/store-conformance.ts";
import { installed, Served, workerdCall, workers } from "./runtimes.ts";

const CONFIG = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "site", worker = .site),
    (name = "storage", disk = (path = ".", writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "site")],
);
const site :Workerd.Worker = (
  modules = [(name = "site", esModule = embed "bundle.js")],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = ["enable_request_signal"],
  durableObjectNamespaces = [(className = "Counters", uniqueKey = "headgate", enableSql = true)],
  durableObjectStorage = (localDisk = "storage"),
  bindings = [(name = "COUNTERS", durableObjectNamespace = "Counters")],
);
`;

const TODAY_MS = 1_700_000_000_123.457;

/** Files in memory where there is such a folder: hundreds of objects would wait for the disk. */
const STORAGE = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** workerd with Durable Objects, which it keeps when it is killed and started again. */
class ObjectHost {
  private readonly folder = installed();
  private readonly worker: URL;
  private readonly storage = mkdtempSync(join(STORAGE, "headgate-objects-"));
  private served: Served | undefined;
  private names = 0;

  constructor(worker: URL) {
    this.worker = worker;
  }

  get url(): string {
    return this.served?.url ?? "";
  }

  async start(): Promise<void> {
    const call = await workerdCall(this.folder, this.worker, CONFIG);
    this.served = new Served(workers.program ?? "", [
      ...call,
      "--experimental",
      `--directory-path=storage=${this.storage}`,
    ]);
    await this.served.listening();
  }

  async kill(): Promise<void> {
    await this.served?.kill();
  }

  async remove(): Promise<void> {
    await this.kill();
    for (const folder of [this.folder, this.storage]) rmSync(folder, { recursive: true, force: true });
  }

  newName(): string {
    this.names += 1;
    return `object-${this.names}`;
  }

  /** A store whose counters are in one object of that name. */
  store(object: string, clock = new ManualClock(TODAY_MS)): Store {
    const counters = {
      reply: (request: CounterRequest) => this.send<CounterReply>({ object, now: clock.now(), request }),
    };
    return { ...durableObjects(() => counters), clock };
  }

  async send<Reply>(message: object): Promise<Reply> {
    const body = JSON.stringify(message, (_, value) => (value === Number.POSITIVE_INFINITY ? "Infinity" : value));
    const response = await fetch(this.url, { method: "POST", body });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return JSON.parse(text, (_, value) => (value === "Infinity" ? Number.POSITIVE_INFINITY : value));
  }
}

const COUNTERS = new URL("counters.mjs", import.meta.url);

describe.skipIf(workers.program === undefined)("Durable Objects in workerd", () => {
  const host = new ObjectHost(COUNTERS);
  beforeAll(() => host.start());
  afterAll(() => host.remove());

  storeConformance("DurableObjectStore", () => {
    const clock = new ManualClock(TODAY_MS);
    return { store: host.store(host.newName(), clock), clock };
  });

  it("keeps every charge when the runtime is killed", async () => {
    const name = host.newName();
    const ten = rule("ten", tokenBucket(longRate(10)));
    const idempotencyKey = "once";
    const first = await ask(host.store(name), "take", ten, "k", 4, { idempotencyKey });
    await host.kill();
    await host.start();
    const store = host.store(name);
    expect(await ask(store, "take", ten, "k", 4, { idempotencyKey })).toEqual(first);
    expect(await remaining(store, ten, "k")).toBeCloseTo(6, 6);
    expect(await ask(store, "take", ten, "k", 7)).toMatchObject({ allowed: false });
  });

  it("deletes what is worthless", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const object = host.newName();
    const store = host.store(object, clock);
    const minute = rule("minute", tokenBucket("10/m"));
    await ask(store, "take", minute, "a", 10, { idempotencyKey: "once" });
    await ask(store, "take", minute, "b", 1);
    const purge = () => host.send({ object, now: clock.now(), purge: true });
    expect(await purge()).toEqual({ deleted: 0, left: 3 });
    await clock.advance(60_000);
    expect(await purge()).toEqual({ deleted: 2, left: 1 });
    await clock.advance(240_000);
    expect(await purge()).toEqual({ deleted: 1, left: 0 });
  });

  it("purges in the course of checks", async () => {
    const clock = new ManualClock(1_700_000_000_000);
    const object = host.newName();
    const store = host.store(object, clock);
    const second = rule("second", tokenBucket("10/s"));
    for (let i = 0; i < 5; i += 1) await ask(store, "take", second, `key-${i}`);
    await clock.advance(61_000);
    await ask(store, "take", second, "another");
    expect(await host.send({ object, now: clock.now(), purge: true })).toEqual({ deleted: 0, left: 1 });
  });

  it("rejects a limit on concurrent tasks", async () => {
    const store = host.store(host.newName());
    await expect(ask(store, "take", rule("slots", concurrency(1)), "k")).rejects.toMatchObject({
      code: "HG_BAD_RULES",
    });
  });

  it("says so when an object does not answer", async () => {
    const counters = { reply: () => Promise.reject(new Error("overloaded")) };
    const ten = rule("ten", tokenBucket(longRate(10)));
    await expect(
      ask(
        durableObjects(() => counters),
        "take",
        ten,
        "k",
      ),
    ).rejects.toMatchObject({
      code: "HG_STORE_UNREACHABLE",
      message: expect.stringContaining("overloaded"),
    });
  });

  it("rejects a request with keys of several objects", async () => {
    const store = durableObjects((key) => ({ id: key, reply: () => Promise.reject(new Error("not asked")) }));
    const ten = rule("ten", tokenBucket(longRate(10)));
    const both = store.apply("take", [operation(ten, "a"), operation(ten, "b")]);
    await expect(both).rejects.toMatchObject({ code: "HG_KEYS_APART" });
  });
});

describe.skipIf(workers.program === undefined)("examples/workers/durable-object.mjs", () => {
  const host = new ObjectHost(new URL("examples/workers/durable-object.mjs", `file://${root}/`));
  beforeAll(() => host.start());
  afterAll(() => host.remove());

  it("allows each client exactly its limit, also across a restart", async () => {
    const statuses = async (client: string, times: number) => {
      const calls = Array.from({ length: times }, () => fetch(host.url, { headers: { "cf-connecting-ip": client } }));
      return (await Promise.all(calls)).map(({ status }) => status).sort();
    };
    expect(await statuses("192.0.2.1", 3)).toEqual([200, 200, 200]);
    await host.kill();
    await host.start();
    expect(await statuses("192.0.2.1", 20)).toEqual([200, 200, ...Array.from({ length: 18 }, () => 429)]);
    expect(await statuses("192.0.2.2", 1)).toEqual([200]);
  });
});
