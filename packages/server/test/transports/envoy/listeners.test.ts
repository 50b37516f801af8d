import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChannelCredentials, Client, credentials, status } from "@grpc/grpc-js";
import { eventually } from "headgate-testkit/eventually";
import { describe, expect, it } from "vitest";
import { world } from "../../checks/fixtures.ts";
import { sampleRule } from "../../rules/sample-rule.ts";
import { makeCertificates } from "../certificates.ts";
import { finallyDo } from "../finally-do.ts";
import { frame, rawCall, rawSession } from "../grpc/http2-client.ts";
import {
  authorize,
  described,
  KEY,
  type RateLimitResponse,
  servedEnvoy,
  servedEnvoyHttp,
  shouldRateLimit,
} from "./fixtures.ts";

const CONFIG = `
domain: test
descriptors:
  - { key: a, rate_limit: { unit: minute, requests_per_unit: 2 } }
`;
const FILES = { "test.yaml": CONFIG };
const ASKED = { domain: "test", descriptors: described("a=x") };
const REFUND = {
  domain: "test",
  descriptors: [{ ...described("a=x")[0], hits_addend: { value: 1 }, is_negative_hits: true }],
};

/** Calls a method with an empty message. Rejects with the status. */
function send(address: string, path: string, message: Buffer = Buffer.alloc(0)): Promise<Buffer> {
  const client = new Client(address, credentials.createInsecure());
  const same = (bytes: Buffer): Buffer => bytes;
  return new Promise<Buffer>((resolve, reject) => {
    client.makeUnaryRequest(path, same, same, message, (error, bytes) => {
      client.close();
      if (error === null && bytes !== undefined) resolve(bytes);
      else reject(error);
    });
  });
}

describe("the gRPC listener for Envoy", () => {
  it("requires an API key with the role unless the operator has allowed calls without", async () => {
    const { address } = await servedEnvoy({ files: FILES, settings: { envoyAnonymous: false } });
    await expect(shouldRateLimit(address, ASKED)).rejects.toMatchObject({ code: 16 });
    await expect(authorize(address, {})).rejects.toMatchObject({ code: 16 });
    await expect(shouldRateLimit(address, ASKED, { key: "wrong" })).rejects.toMatchObject({ code: 16 });
    await expect(shouldRateLimit(address, ASKED, { key: "reader" })).rejects.toMatchObject({ code: 7 });
    expect(await shouldRateLimit(address, ASKED, { key: KEY })).toMatchObject({ overall_code: "OK" });
  });

  it("refuses a call without a key while its message is still being sent, and one that is not sent in time", async () => {
    const settings = { envoyAnonymous: false, grpcMessageTimeoutMs: 100 };
    const { address, told } = await servedEnvoy({ files: FILES, settings });
    const session = await rawSession(address);
    const path = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
    for (const [authorization, code] of [
      [undefined, status.UNAUTHENTICATED],
      ["Bearer wrong", status.UNAUTHENTICATED],
      [`Bearer ${KEY}`, status.DEADLINE_EXCEEDED],
    ] as const) {
      const { stream, outcome, closed } = rawCall(session, path, authorization);
      stream.write(frame(200_000, 10));
      expect(await outcome).toBe(String(code));
      expect(await closed).toBe(0);
    }
    session.destroy();
    const refused = "envoy ShouldRateLimit UNAUTHENTICATED";
    expect(told.calls).toEqual([refused, refused, "envoy ShouldRateLimit DEADLINE_EXCEEDED"]);
  });

  it("needs no key from a client with a certificate, and answers no other client", async () => {
    const certificates = makeCertificates();
    const [cert, key, clientCa] = ["server.pem", "server.key", "ca.pem"].map(certificates.at);
    const settings = { envoyAnonymous: false, tls: { cert, key, clientCa } };
    const { server } = await servedEnvoy({ files: FILES, settings });
    const address = `localhost:${server.address.port}`;
    const ask = (credentials: ChannelCredentials): Promise<unknown> => shouldRateLimit(address, ASKED, { credentials });
    expect(await ask(certificates.as("client"))).toMatchObject({ overall_code: "OK" });
    for (const other of [certificates.as("stranger"), certificates.as(), credentials.createInsecure()]) {
      await expect(ask(other)).rejects.toMatchObject({ code: status.UNAVAILABLE });
    }
    certificates.remove();
  });

  it("rejects a wrong key even if none is required", async () => {
    const { address } = await servedEnvoy({ files: FILES });
    await expect(shouldRateLimit(address, ASKED, { key: "wrong" })).rejects.toMatchObject({ code: 16 });
  });

  it("does not start without keys on an address that other machines can reach", async () => {
    const settings = { envoy: { host: "0.0.0.0", port: 0 }, insecure: true };
    await expect(servedEnvoy({ settings })).rejects.toThrow(/--envoy-anonymous.*other machines can reach 0\.0\.0\.0/);
  });

  it("needs no key on a Unix socket, and replaces one that was left behind", async () => {
    const folder = mkdtempSync(join(tmpdir(), "headgate-socket-"));
    const path = join(folder, "envoy.sock");
    try {
      const settings = { envoy: { host: "", port: 0, path }, envoyAnonymous: false };
      const { address } = await servedEnvoy({ files: FILES, settings });
      expect(address).toBe(`unix:${path}`);
      const answers = await Promise.all([1, 2, 3].map(() => shouldRateLimit<RateLimitResponse>(address, ASKED)));
      expect(answers.map(({ overall_code }) => overall_code).sort()).toEqual(["OK", "OK", "OVER_LIMIT"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("refuses negative hits without a key, unless the operator has allowed them", async () => {
    const { address } = await servedEnvoy({ files: FILES });
    await shouldRateLimit(address, { ...ASKED, hits_addend: 2 });
    await expect(shouldRateLimit(address, REFUND)).rejects.toMatchObject({
      code: 3,
      details: expect.stringMatching(/is_negative_hits.*API key/),
    });
    expect(await shouldRateLimit(address, REFUND, { key: KEY })).toMatchObject({
      overall_code: "OK",
      statuses: [{ code: "OK", limit_remaining: 1 }],
    });
    const open = await servedEnvoy({ files: FILES, settings: { envoyAnonymousRefunds: true } });
    expect(await shouldRateLimit(open.address, REFUND)).toMatchObject({ overall_code: "OK" });
  });

  it("serves nothing else", async () => {
    const { address } = await servedEnvoy({ files: FILES });
    await expect(send(address, "/headgate.v1.RateLimiter/CheckRateLimit")).rejects.toMatchObject({ code: 12 });
    await expect(send(address, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")).rejects.toMatchObject({
      code: 12,
    });
  });

  it("answers health checks", async () => {
    const { address } = await servedEnvoy();
    // The whole server, its services, and the name of envoyproxy/ratelimit.
    const services = [
      "",
      "envoy.service.ratelimit.v3.RateLimitService",
      "envoy.service.auth.v3.Authorization",
      "ratelimit",
    ];
    for (const service of services) {
      const name = Buffer.from(service);
      const request = Buffer.concat([Buffer.from([10, name.length]), name]);
      // status: SERVING
      expect(await send(address, "/grpc.health.v1.Health/Check", request)).toEqual(Buffer.from([8, 1]));
    }
  });

  it("reloads the configuration when a file changes, and keeps it if that is invalid", async () => {
    const { address, config, logged } = await servedEnvoy({ files: FILES });
    const remaining = async (): Promise<number | undefined> => {
      const look = { domain: "test", descriptors: [{ ...described("a=x")[0], hits_addend: { value: 0 } }] };
      return (await shouldRateLimit<RateLimitResponse>(address, look)).statuses[0].limit_remaining;
    };
    expect(await remaining()).toBe(2);
    writeFileSync(join(config, "test.yaml"), CONFIG.replace("requests_per_unit: 2", "requests_per_unit: 7"));
    await eventually("the new limit is in force", async () => (await remaining()) === 7);
    writeFileSync(join(config, "test.yaml"), "domain: ''");
    await eventually("the mistake is logged", async () => logged.some((line) => line.includes("must not be empty")));
    expect(await remaining()).toBe(7);
  });

  it("warns if the folder has no limits, because the files are in one below it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "headgate-runtime-"));
    finallyDo(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, "config"));
    writeFileSync(join(folder, "config", "test.yaml"), CONFIG);
    const { logged } = await servedEnvoy({ settings: { envoyConfig: folder } });
    expect(logged).toEqual([
      expect.stringContaining(`${folder} has no limits, so requests pass unless they bring their own`),
      expect.stringContaining(`${join(folder, "config")} is ignored: it is not a .yaml or .yml file`),
    ]);
  });

  it("gives the store the caller's time less a quarter, or envoy_timeout", async () => {
    const made = await world([]);
    const within: (number | undefined)[] = [];
    const { strict } = made.stores;
    const store = {
      apply: (...args: Parameters<typeof strict.apply>) => {
        within.push(args[2]?.answerWithin);
        return strict.apply(...args);
      },
    };
    const { address } = await servedEnvoy({
      files: FILES,
      world: { ...made, stores: { ...made.stores, strict: store } },
    });
    await shouldRateLimit(address, ASKED);
    await shouldRateLimit(address, ASKED, { deadlineMs: 8_000 });
    expect(within[0]).toBe(15_000);
    expect(within[1]).toBeGreaterThan(1_000_000);
    expect(within[1]).toBeLessThanOrEqual(6_000_000);
  });
});

const RULE = sampleRule({
  algorithm: "fixed_window",
  rule_id: "per-address",
  dimension: "ip",
  endpoint_pattern: "/api/**",
  limit: 1,
  window_seconds: 60,
});
const PER_USER = sampleRule({
  algorithm: "fixed_window",
  rule_id: "per-user",
  dimension: "user",
  endpoint_pattern: "/api/**",
  limit: 2,
  window_seconds: 60,
});

interface Authorized {
  readonly status?: { readonly code?: number };
  readonly denied_response?: {
    readonly status: { readonly code: number };
    readonly headers: readonly { readonly header: { readonly key: string; readonly value: string } }[];
    readonly body: string;
  };
  readonly ok_response?: {
    readonly response_headers_to_add?: readonly { readonly header: { readonly key: string } }[];
  };
}

function attributes(fields: { user?: string; path?: string; address?: string; extensions?: object } = {}): object {
  const { user, path = "/api/orders?page=2", address = "192.0.2.7", extensions = {} } = fields;
  return {
    attributes: {
      source: { address: { socket_address: { address, port_value: 5000 } } },
      request: {
        http: { method: "GET", path, host: "example.com", headers: user === undefined ? {} : { "x-user": user } },
      },
      context_extensions: extensions,
    },
  };
}

describe("Authorization/Check for the ext_authz filter", () => {
  it("applies rules to the client's address, and denies with 429, headers and a problem", async () => {
    const { address } = await servedEnvoy({ world: await world([RULE]) });
    const first = await authorize<Authorized>(address, attributes());
    expect(first.status?.code ?? 0).toBe(0);
    expect(first.ok_response?.response_headers_to_add?.map(({ header }) => header.key)).toContain("RateLimit");
    const { status, denied_response: denied } = await authorize<Authorized>(address, attributes());
    expect(status?.code).not.toBe(0);
    expect(denied?.status.code).toBe(429);
    const headers = Object.fromEntries(denied?.headers.map(({ header }) => [header.key, header.value]) ?? []);
    expect(headers).toMatchObject({
      RateLimit: '"per-address";r=0;t=60',
      "Retry-After": "60",
      "content-type": "application/problem+json",
    });
    expect(JSON.parse(denied?.body ?? "")).toMatchObject({ status: 429, "violated-policies": ["per-address"] });
    const other = await authorize<Authorized>(address, attributes({ address: "192.0.2.8" }));
    expect(other.ok_response).toBeDefined();
    const elsewhere = await authorize<Authorized>(address, attributes({ path: "/other" }));
    expect(elsewhere.ok_response).toBeDefined();
  });

  it("names rules that limit concurrent tasks, which it does not apply", async () => {
    const slots = sampleRule({
      rule_id: "slots",
      dimension: "ip",
      endpoint_pattern: "/api/**",
      algorithm: "concurrency",
      limit: 1,
      window_seconds: null,
    });
    const { address } = await servedEnvoy({ world: await world([slots]) });
    for (let i = 0; i < 2; i += 1) {
      const { ok_response: ok } = await authorize<Authorized>(address, attributes());
      expect(ok?.response_headers_to_add?.map(({ header }) => header)).toEqual([
        { key: "Headgate-Not-Applied", value: '"slots"' },
      ]);
    }
  });

  it("takes the identity from the header that the route names, and from the address without it", async () => {
    const { address } = await servedEnvoy({ world: await world([RULE, PER_USER]) });
    const extensions = { dimension: "user", identifier_header: "X-User" };
    const ask = async (user?: string): Promise<boolean> =>
      (await authorize<Authorized>(address, attributes({ extensions, ...(user !== undefined && { user }) })))
        .ok_response !== undefined;
    expect([await ask("ann"), await ask("ann"), await ask("ann"), await ask("bob")]).toEqual([true, true, false, true]);
    expect([await ask(), await ask()]).toEqual([true, false]);
  });

  it("does not take an identity from a header that the route does not name", async () => {
    const { address } = await servedEnvoy({ world: await world([RULE]) });
    expect((await authorize<Authorized>(address, attributes({ user: "ann" }))).ok_response).toBeDefined();
    expect((await authorize<Authorized>(address, attributes({ user: "bob" }))).ok_response).toBeUndefined();
  });

  it("reports mistakes in the configuration of the route", async () => {
    const { address } = await servedEnvoy();
    await expect(authorize(address, attributes({ extensions: { dimension: "planet" } }))).rejects.toMatchObject({
      code: 3,
      details: expect.stringMatching(/context_extensions\.dimension/),
    });
    await expect(authorize(address, attributes({ extensions: { dimension: "user" } }))).rejects.toMatchObject({
      code: 3,
      details: expect.stringMatching(/identifier_header/),
    });
  });
});

describe("the HTTP listener for Envoy", () => {
  async function setUp(settings = {}) {
    const { address } = await servedEnvoyHttp({ files: FILES, settings });
    return async (path: string, body?: unknown, key?: string) => {
      const response = await fetch(`http://${address}${path}`, {
        ...(body !== undefined && { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) }),
        headers: { connection: "close", ...(key !== undefined && { authorization: `Bearer ${key}` }) },
      });
      const text = await response.text();
      return { status: response.status, text, body: text.startsWith("{") ? JSON.parse(text) : undefined };
    };
  }

  it("answers POST /json with 200 and 429", async () => {
    const ask = await setUp();
    const asked = { domain: "test", descriptors: [{ entries: [{ key: "a", value: "x" }] }] };
    expect(await ask("/json", asked)).toMatchObject({
      status: 200,
      body: {
        overallCode: "OK",
        statuses: [
          {
            code: "OK",
            currentLimit: { requestsPerUnit: 2, unit: "MINUTE" },
            limitRemaining: 1,
            durationUntilReset: "60s",
          },
        ],
      },
    });
    expect(await ask("/json", { ...asked, hitsAddend: "1" })).toMatchObject({ status: 200 });
    const denied = await ask("/json", { ...asked, hits_addend: 1 });
    expect(denied).toMatchObject({
      status: 429,
      body: { overallCode: "OVER_LIMIT", statuses: [{ code: "OVER_LIMIT" }] },
    });
    expect(JSON.parse(Buffer.from(denied.body.rawBody, "base64").toString())).toMatchObject({ status: 429 });
  });

  it("names the field at fault once, and what is wrong with it", async () => {
    const ask = await setUp();
    const entries = [{ key: "a", value: "x" }];
    for (const [descriptor, field, problem] of [
      [{ entries, hitsAddend: true }, "descriptors[0].hitsAddend", "must be a whole number"],
      [{ entries, limit: { unit: "EON" } }, "descriptors[0].limit.unit", "must be one of SECOND, MINUTE, HOUR"],
      [{ entries: [] }, "descriptors[0].entries", "must not be empty"],
    ] as const) {
      const { status, text } = await ask("/json", { domain: "test", descriptors: [descriptor] });
      expect(status).toBe(400);
      expect(JSON.parse(text)).toMatchObject({
        detail: expect.not.stringMatching(/(\S+: )\1/),
        errors: [{ field, problem: expect.stringContaining(problem) }],
      });
    }
  });

  it("takes null as the default value, as the JSON of protobuf does", async () => {
    const ask = await setUp();
    const descriptor = { entries: [{ key: "a", value: "x" }], limit: null, hitsAddend: null, isNegativeHits: null };
    expect(await ask("/json", { domain: "test", descriptors: [descriptor], hitsAddend: null })).toMatchObject({
      status: 200,
    });
  });

  it("rejects what is not a request, and other routes", async () => {
    const ask = await setUp();
    expect(await ask("/json", "no json")).toMatchObject({ status: 400 });
    expect(await ask("/json", { domain: "test", descriptor: [] })).toMatchObject({ status: 400 });
    expect(await ask("/json", { domain: "", descriptors: [] })).toMatchObject({ status: 400 });
    expect(await ask("/json")).toMatchObject({ status: 405 });
    expect(await ask("/api/v1/check", {})).toMatchObject({ status: 404 });
    expect(await ask("/healthcheck")).toMatchObject({ status: 200, text: "OK" });
  });

  it("requires a key unless the operator has allowed calls without", async () => {
    const ask = await setUp({ envoyAnonymous: false });
    const asked = { domain: "test", descriptors: [{ entries: [{ key: "a", value: "x" }] }] };
    expect(await ask("/json", asked)).toMatchObject({ status: 401 });
    expect(await ask("/json", asked, "reader")).toMatchObject({ status: 403 });
    expect(await ask("/json", asked, KEY)).toMatchObject({ status: 200 });
    expect(await ask("/healthcheck")).toMatchObject({ status: 200 });
  });
});
