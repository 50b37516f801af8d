import { tokenBucket } from "headgate";
import { Redis } from "ioredis";
import { expect, it, vi } from "vitest";
import { CallLimits } from "../../../src/checks/call-limits.ts";
import { SelfLimits } from "../../../src/transports/shared/own-limits.ts";
import { rule, userData } from "../../checks/fixtures.ts";
import { finallyDo } from "../finally-do.ts";
import { owner, RawClient, type Served, served } from "./fixtures.ts";

async function clientOf({ port }: Served, password = "check-key", options: object = {}): Promise<Redis> {
  const client = new Redis({ port, host: "127.0.0.1", password, lazyConnect: true, retryStrategy: null, ...options });
  client.on("error", () => {});
  finallyDo(() => client.disconnect());
  await client.connect();
  return client;
}

it("limits as redis-cell and throttlecrab do, by the store's clock", async () => {
  const here = await served();
  const client = await clientOf(here);
  expect(await client.call("CL.THROTTLE", "user123", 15, 30, 60)).toEqual([0, 16, 15, -1, 2]);
  expect(await client.call("cl.throttle", "user123", "15", "30", "60", "16")).toEqual([1, 16, 15, 2, 2]);
  expect(await client.call("CL.THROTTLE", "user123", 15, 30, 60, 0)).toEqual([0, 16, 15, -1, 2]);
  await here.clock.advance(2_000);
  expect(await client.call("CL.THROTTLE", "user123", 15, 30, 60, 16)).toEqual([0, 16, 0, -1, 32]);
  expect(await client.call("CL.THROTTLE", "user123", 15, 30, 60, 17)).toEqual([1, 16, 0, -1, 32]);
  expect(await client.call("THROTTLE", "other", 10, 100, 60)).toEqual([1, 10, 9, 5, 0]);
});

it("resets keys with DEL, in the order of the pipeline", async () => {
  const client = await clientOf(await served());
  const take = ["CL.THROTTLE", "k", "0", "1", "60"] as const;
  const results = await client
    .pipeline([
      ["call", ...take],
      ["call", ...take],
      ["del", "k", "none"],
      ["call", ...take],
    ])
    .exec();
  expect(results?.map(([, reply]) => (Array.isArray(reply) ? reply[0] : reply))).toEqual([0, 1, 2, 0]);
});

it("keeps the counters of namespaces apart, and keys of one namespace together", async () => {
  const here = await served();
  here.keys.set("new-key", owner("new", ["check"], "check"));
  here.keys.set("other-key", owner("other", ["check"]));
  const left = async (key: string) => {
    const client = await clientOf(here, key);
    const [, , remaining] = (await client.call("CL.THROTTLE", "k", 4, 1, 60)) as number[];
    return remaining;
  };
  expect([await left("check-key"), await left("new-key"), await left("other-key")]).toEqual([4, 3, 4]);
});

it("takes any bytes as a key", async () => {
  const client = await clientOf(await served());
  const keys = [
    "__proto__",
    "",
    "\0",
    "a:b",
    "{x}",
    "🦊",
    Buffer.from([0xff]),
    Buffer.from([0xfe]),
    "x".repeat(10_000),
  ];
  for (const key of keys) {
    const [limited, , remaining] = (await client.call("CL.THROTTLE", key, 1, 1, 60)) as number[];
    expect([limited, remaining], String(key)).toEqual([0, 1]);
  }
});

it.each([
  [["CL.THROTTLE", "k"], "ERR wrong number of arguments for 'cl.throttle' command"],
  [["CL.THROTTLE", "k", "1", "1", "1", "1", "1"], "ERR arguments: "],
  [["CL.THROTTLE", "k", "-1", "1", "1"], "ERR max_burst: must be a whole number from 0"],
  [["THROTTLE", "k", "0", "1", "1"], "ERR max_burst: must be a whole number from 1"],
  [["CL.THROTTLE", "k", "1", "0", "1"], "ERR count: "],
  [["CL.THROTTLE", "k", "1", "1", "0"], "ERR period: "],
  [["CL.THROTTLE", "k", "1", "1.5", "1"], "ERR count: "],
  [["CL.THROTTLE", "k", "1", "9007199254740993", "1"], "ERR count: "],
  [["CL.THROTTLE", "k", "1", "2000000000", "1"], "ERR count: must be at most"],
  [["CL.THROTTLE", "k", "1", "1", "1", "-1"], "ERR quantity: "],
  [["CL.THROTTLE", "k", "1", "1", "1", "NaN"], "ERR quantity: "],
  [["CL.THROTTLE", "k", "1000000000", "1", "86400"], "ERR max_burst, count and period: is too large"],
  [["GET", "k"], "ERR unknown command 'GET'"],
  [["SELECT", "1"], "ERR DB index is out of range"],
  [["HELLO", "4"], "NOPROTO unsupported protocol version"],
  [["CLIENT", "KILL"], "ERR unknown subcommand 'KILL'"],
  [["CLIENT", "SETNAME", "a b"], "ERR Client names cannot contain spaces"],
  [["ECHO"], "ERR wrong number of arguments for 'echo' command"],
  [["HG.CHECK", "none", "k"], 'ERR rule: there is no rule with the id "none"'],
  [["HG.CHECK", "all", "k", "PRICE", "1"], "ERR syntax error"],
  [["HG.CHECK", "all", "k", "COST", "-1"], "ERR COST: "],
  [["HG.CHECK", "all", ""], "ERR identifier: must not be empty"],
])("refuses %j, and charges nothing", async ([name, ...args], message) => {
  const client = await clientOf(await served());
  await expect(client.call(name, ...args)).rejects.toThrow(message);
  expect(await client.call("CL.THROTTLE", "k", 1, 1, 60, 0)).toEqual([0, 2, 2, -1, 0]);
});

it("answers what clients ask when they connect", async () => {
  const client = await clientOf(await served());
  expect(await client.ping()).toBe("PONG");
  expect(await client.ping("a")).toBe("a");
  expect(await client.echo("größe")).toBe("größe");
  expect(await client.select(0)).toBe("OK");
  expect(await client.client("SETNAME", "shop")).toBe("OK");
  expect(await client.client("GETNAME")).toBe("shop");
  expect(await client.client("ID")).toBeGreaterThanOrEqual(0);
  expect(await client.info()).toContain("loading:0");
  expect(await client.call("COMMAND", "COUNT")).toBe(13);
  expect(await client.call("COMMAND", "INFO", "cl.throttle", "get")).toEqual([
    ["cl.throttle", -5, ["write"], 1, 1, 1],
    null,
  ]);
  expect(await client.call("COMMAND", "DOCS")).toEqual([]);
  expect(await client.call("HELLO", "2")).toEqual(expect.arrayContaining(["server", "headgate", "proto", 2]));
});

it("checks rules by name, with everything that REST returns, as a map", async () => {
  const here = await served({ rules: [rule({ limit: 3 })] });
  const raw = new RawClient(here.port);
  await raw.ask("HELLO 3 AUTH default check-key\r\n", 80);
  expect(await raw.ask("HG.CHECK all 42 COST 2\r\n", 500)).toMatch(/^%\d+\r\n\$7\r\nallowed\r\n#t\r\n/);
  expect(raw.received).toContain("$9\r\nremaining\r\n:1\r\n");
  expect(raw.received).toContain("$7\r\nrule_id\r\n$3\r\nall\r\n");
  expect(raw.received).toContain("$6\r\nlimits\r\n*1\r\n%");
  const client = await clientOf(here);
  const flat = (await client.call("HG.CHECK", "all", "42", "COST", "2")) as unknown[];
  const answer = Object.fromEntries(flat.flatMap((item, i) => (i % 2 === 0 ? [[item, flat[i + 1]]] : [])));
  expect(answer).toMatchObject({ allowed: 0, remaining: 1, limit: 3, retry_after: 60, state: "throttled" });
  // The same counter as over REST.
  expect(await here.service.peek({ identifier: "42", dimension: "user", endpoint: "/x", cost: 1 })).toMatchObject({
    decisive: { remaining: 1 },
  });
  expect(here.told.decisions.map(({ request }) => request.identifier)).toEqual(["42", "42"]);
});

it("applies the limit of the user's tier to a rule by name, and shadow rules deny nothing", async () => {
  const rules = [rule({ rule_id: "a" }), rule({ rule_id: "gold", tier: "gold", limit: 99 })];
  const shadow = rule({ rule_id: "s", endpoint_pattern: "/s", mode: "shadow", limit: 1 });
  const only = rule({ rule_id: "only", endpoint_pattern: "/only", tier: "gold" });
  const here = await served({ rules: [...rules, shadow, only] });
  here.users.set("rich", userData("rich", { tier: "gold" }));
  const limitOf = async (ruleId: string, identifier: string) =>
    (await here.service.checkRule({ ruleId, identifier, cost: 1 })).verdict?.deciding.limit;
  expect([await limitOf("a", "poor"), await limitOf("a", "rich"), await limitOf("gold", "poor")]).toEqual([10, 99, 10]);
  expect(await limitOf("only", "poor")).toBe(undefined);
  const client = await clientOf(here);
  const allowed = async () => ((await client.call("HG.CHECK", "s", "42", "COST", 2)) as unknown[])[1];
  expect([await allowed(), await allowed()]).toEqual([1, 1]);
});

it("refuses a rule that limits concurrent tasks", async () => {
  const slots = rule({ rule_id: "slots", algorithm: "concurrency", window_seconds: null });
  const client = await clientOf(await served({ rules: [slots] }));
  await expect(client.call("HG.CHECK", "slots", "42")).rejects.toThrow("reserve a slot with POST /api/v1/reservations");
});

it("answers a pipeline as it answers one command at a time", async () => {
  const commands = [
    ...["a", "b", "user:1", "user:22", "a", "a"].map((key) => ["CL.THROTTLE", key, "1", "1", "60"]),
    ...["a", "b", "c"].map((key) => ["CL.THROTTLE", key, "2", "1", "60"]),
    ["CL.THROTTLE", "a", "2", "1", "60", "0"],
    ["CL.THROTTLE", "b", "2", "1", "60", "x"],
    ["CL.THROTTLE", "b", "2", "1", "60", "9"],
    ["CL.THROTTLE", "b", "x", "1", "60"],
    ["CL.THROTTLE", "b", "2", "1", "60", "1", "1"],
    ["PING"],
    ...["b", "c", "c", "d"].map((key) => ["CL.THROTTLE", key, "2", "1", "60", "2"]),
    ["DEL", "c"],
    ...["c", "c"].map((key) => ["THROTTLE", key, "2", "1", "60"]),
    ["cl.throttle", "c", "2", "1", "60"],
  ].map((args) => `*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join("")}`);
  const single = await served();
  const one = new RawClient(single.port);
  // Each command leaves some until it ends.
  one.socket.setMaxListeners(100);
  await one.ask("AUTH check-key\r\n", 5);
  let answers = "";
  for (const command of commands) answers += await one.ask(command, 4);
  const together = await served();
  const all = new RawClient(together.port);
  await all.ask("AUTH check-key\r\n", 5);
  expect(await all.ask(commands.join(""), answers.length)).toBe(answers);
  expect(together.told.calls).toEqual(single.told.calls);
  expect(together.told.counts.join().match(/denied/g)?.length).toBeGreaterThan(1);
});

it("counts commands and decisions in the metrics", async () => {
  const here = await served();
  const raw = new RawClient(here.port);
  await raw.ask("AUTH check-key\r\n", 5);
  await raw.ask("CL.THROTTLE a 1 1 60\r\n".repeat(3), 80);
  await raw.ask("FOO\r\nCL.THROTTLE a\r\n", 60);
  await vi.waitFor(() => expect(here.told.calls).toHaveLength(6));
  expect(here.told.calls).toEqual([
    "resp AUTH OK",
    ...Array.from({ length: 3 }, () => "resp CL.THROTTLE OK"),
    "resp unknown ERR",
    "resp CL.THROTTLE ERR",
  ]);
  expect(here.told.counts).toEqual(["namespace:check allowed store 2", "namespace:check denied store 1"]);
});

it("stops at the node's own limit, and charges exactly what it admits", async () => {
  const rates = { checksLimit: "10/h", configReadsLimit: "1/h", configWritesLimit: "1/h" } as const;
  const here = await served({ selfLimits: new SelfLimits({ rates }) });
  const client = await clientOf(here);
  const calls = Array.from({ length: 12 }, () => ["call", "CL.THROTTLE", "k", "99", "1", "60"]);
  const results = (await client.pipeline(calls).exec()) ?? [];
  const errors = results.flatMap(([error]) => (error === null ? [] : error.message));
  expect(errors).toHaveLength(2);
  expect(errors[0]).toMatch(/^BUSY the node is over capacity/);
  const limit = tokenBucket({ limit: 1, windowMs: 60_000 }, { burst: 100 });
  const limits = new CallLimits({ stores: here.stores, consistency: "strict", onError: "local" });
  expect(await limits.take(limits.ruleOf("check"), "k", limit, 0)).toMatchObject({ remaining: 90 });
});
