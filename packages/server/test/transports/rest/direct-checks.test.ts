import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { StoreError } from "headgate";
import { ManualClock } from "headgate/testing";
import { afterEach, expect, it } from "vitest";
import { RequestError } from "../../../src/checks/request-error.ts";
import { SelfLimits } from "../../../src/transports/shared/own-limits.ts";
import { type Answer, ruleOf, type Service, type ServiceOptions, startService } from "./service.ts";

/** Only the first spelling is answered without fastify. */
const TYPES = { direct: "application/json", fastify: "application/json;charset=utf-8" } as const;
type Way = keyof typeof TYPES;

const services: Service[] = [];
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.stop()));
});

async function start(options?: ServiceOptions): Promise<Service> {
  const service = await startService(options);
  services.push(service);
  return service;
}

const SLOTS = { algorithm: "concurrency", window_seconds: null, endpoint_pattern: "/slots" } as const;
const ORDER = { identifier: "42", dimension: "user", endpoint: "/api/v1/orders" };

function check(service: Service, way: Way, body: unknown = ORDER, key = service.keys.check): Promise<Answer> {
  return service.ask("POST", "/api/v1/check", { body, key, headers: { "content-type": TYPES[way] } });
}

function told({ status, headers, text }: Answer): object {
  return { status, headers: [...headers].filter(([name]) => name !== "date"), text };
}

it("answers like fastify, whatever the body", async () => {
  const rules = [ruleOf(), ruleOf({ rule_id: "slots", ...SLOTS })];
  const [direct, fastify] = [await start({ rules }), await start({ rules })];
  // They may have been started in different minutes.
  await fastify.clock.advance(Math.max(0, direct.clock.now() - fastify.clock.now()) / 1000);
  await direct.clock.advance(Math.max(0, fastify.clock.now() - direct.clock.now()) / 1000);
  // Most bodies that are made of everything below are invalid, and fastify answers them anyway.
  const plain = fc.record(
    {
      identifier: fc.constantFrom("42", "43", "é"),
      dimension: fc.constantFrom("user", "ip"),
      endpoint: fc.constantFrom("/api/v1/orders", "/slots", "/elsewhere"),
      method: fc.constantFrom("GET", "POST"),
      cost: fc.constantFrom(0, 1, 2, 4),
      timestamp: fc.constantFrom(0, 1_800_000_000_000),
      with_limits: fc.boolean(),
    },
    { requiredKeys: ["identifier", "endpoint"] },
  );
  const bodies = fc.oneof(
    plain,
    fc.record(
      {
        identifier: fc.constantFrom("42", "43", "é", "", 7),
        dimension: fc.constantFrom("user", "USER", "ip", "nobody"),
        endpoint: fc.constantFrom("/api/v1/orders", "/slots", "/elsewhere", "/%zz", `/${"a".repeat(600)}`, ""),
        method: fc.constantFrom("GET", "no method", ""),
        cost: fc.constantFrom(0, 1, 2, 4, -1, 1.5),
        timestamp: fc.constantFrom(0, 1_800_000_000_000, "now"),
        with_limits: fc.constantFrom(true, false, 1),
        identities: fc.constantFrom([{ identifier: "42" }], []),
        unknown: fc.constant(1),
      },
      { requiredKeys: ["identifier", "endpoint"] },
    ),
    fc.constantFrom(
      "",
      "{",
      "null",
      "[]",
      '{"identifier":"1","endpoint":"/","__proto__":{"cost":0}}',
      "x".repeat(5_000),
    ),
  );
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const answers = await Promise.all([check(direct, "direct", body), check(fastify, "fastify", body)]);
      const [one, other] = answers.map(told);
      expect(one).toEqual(other);
      expect(direct.calls.at(-1)).toBe(fastify.calls.at(-1));
    }),
    { numRuns: 200 },
  );
  expect(direct.calls).toEqual(fastify.calls);
});

it("answers plain checks of known keys without fastify", async () => {
  let asked = 0;
  const service = await start({
    parts: ({ keyRing }) => {
      const authenticate: typeof keyRing.authenticate = (...args) => {
        asked += 1;
        return keyRing.authenticate(...args);
      };
      const recognize: typeof keyRing.recognize = (authorization) => keyRing.recognize(authorization);
      return { keyRing: { authenticate, recognize, session: () => undefined, startSession: () => undefined } };
    },
  });
  const expectAsked = async (way: Way, body: unknown, key: string, wanted: number, status: number) => {
    asked = 0;
    expect((await check(service, way, body, key)).status).toBe(status);
    expect(asked).toBe(wanted);
  };
  const { check: key, read } = service.keys;
  await expectAsked("direct", ORDER, key, 1, 200);
  await expectAsked("direct", ORDER, key, 0, 200);
  await expectAsked("fastify", ORDER, key, 1, 200);
  await expectAsked("direct", ORDER, key, 0, 429);
  await expectAsked("direct", { ...ORDER, unknown: 1 }, key, 1, 400);
  for (let i = 0; i < 2; i += 1) await expectAsked("direct", ORDER, read, 1, 403);
  for (let i = 0; i < 2; i += 1) await expectAsked("direct", ORDER, "wrong", 1, 401);
});

it.each([
  ["at once", new RequestError("cost", "is odd"), false],
  ["later", new RequestError("cost", "is odd"), true],
  ["later, by the store", new StoreError("HG_STORE_TIMEOUT", "it is slow"), true],
])("answers like fastify when a check fails %s", async (_, error, isLate) => {
  const service = await start({
    parts: ({ service }) => ({
      service: {
        ...service,
        check: () => {
          if (isLate) return Promise.reject(error);
          throw error;
        },
      },
    }),
  });
  await check(service, "fastify");
  expect(told(await check(service, "direct"))).toEqual(told(await check(service, "fastify")));
  expect(new Set(service.calls).size).toBe(1);
});

it("charges the limit on checks once, also when fastify takes over", async () => {
  const selfLimits = new SelfLimits({
    clock: new ManualClock(),
    rates: { configReadsLimit: "10/m", configWritesLimit: "10/m", checksLimit: "4/s" },
  });
  const service = await start({ parts: () => ({ selfLimits }) });
  const statuses: number[] = [];
  for (const body of [ORDER, ORDER, { ...ORDER, unknown: 1 }, ORDER, ORDER]) {
    statuses.push((await check(service, "direct", body)).status);
  }
  expect(statuses).toEqual([200, 200, 400, 200, 429]);
  const refused = await check(service, "direct");
  expect(refused.body["violated-policies"]).toEqual(["checks"]);
  expect(told(refused)).toEqual(told(await check(service, "fastify")));
});

it("announces the deprecation of the route", async () => {
  const deprecation = { since: new Date(0), sunset: new Date(1e12), link: "https://example.com/v2" };
  const service = await start({ parts: () => ({ deprecations: { "POST /api/v1/check": deprecation } }) });
  for (let i = 0; i < 2; i += 1) expect((await check(service, "direct")).headers.get("deprecation")).toBe("@0");
});

it("counts a request whose client has gone", async () => {
  const service = await start();
  await check(service, "direct");
  const socket = connect(service.port, "127.0.0.1");
  socket.write(
    "POST /api/v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" +
      `Authorization: Bearer ${service.keys.check}\r\nContent-Length: 100\r\n\r\n{`,
  );
  await once(socket, "connect");
  // The next request shows that the server has read this one.
  await check(service, "direct");
  socket.destroy();
  await expect.poll(() => service.calls).toContain("/api/v1/check 400");
});

it("answers a client that has gone once only", async () => {
  let decide = (): void => {};
  const asked = new Promise<void>((resolve) => {
    decide = resolve;
  });
  let answer = (): void => {};
  const service = await start({
    parts: ({ service: { check }, service }) => ({
      service: {
        ...service,
        check: (request) => {
          if (request.identifier !== "slow") return check.call(service, request);
          decide();
          return new Promise((resolve) => {
            answer = () => resolve(check.call(service, request));
          });
        },
      },
    }),
  });
  await check(service, "direct");
  const body = JSON.stringify({ ...ORDER, identifier: "slow" });
  const socket = connect(service.port, "127.0.0.1");
  socket.write(
    "POST /api/v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" +
      `Authorization: Bearer ${service.keys.check}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await asked;
  service.calls.length = 0;
  socket.destroy();
  // By then, the server has noticed.
  for (let i = 0; i < 5; i += 1) await service.ask("GET", "/healthz");
  answer();
  await expect.poll(() => service.calls).toContain("/api/v1/check 200");
  expect(service.calls).not.toContain("/api/v1/check 400");
});
