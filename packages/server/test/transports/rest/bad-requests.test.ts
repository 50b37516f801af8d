import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Service, startService } from "./service.ts";

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** Says something on a bare connection and listens until the other side closes it. */
async function say(text: string, { port } = service): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("latin1");
  let heard = "";
  socket.on("data", (chunk) => {
    heard += chunk;
  });
  // It may be closed on us while we speak.
  socket.on("error", () => {});
  socket.write(text);
  await once(socket, "close");
  return heard;
}

function bodyOf(heard: string): { readonly code: string; readonly status: number } {
  return JSON.parse(heard.slice(heard.indexOf("\r\n\r\n") + 4));
}

function expectProblem({ status, headers, body }: Answer, code: string): void {
  expect(body).toMatchObject({ status, code, type: `urn:headgate:problem:${code}` });
  expect(headers.get("content-type")).toMatch(/^application\/problem\+json/);
  expect(body.title).not.toBe("");
  expect(body.advice).not.toBe("");
}

describe("a problem in the words of RFC 9457 answers", () => {
  it.each([
    ["an unknown route", "GET", "/api/v2/rules", 404, "route_not_found"],
    ["an unknown route with a body", "POST", "/nothing", 404, "route_not_found"],
    ["a method that the route does not take", "PATCH", "/api/v1/rules", 405, "method_not_allowed"],
    ["a rule id that climbs", "GET", "/api/v1/rules/..%2f..%2fetc", 404, "rule_not_found"],
    ["a rule id that is a prototype", "GET", "/api/v1/rules/__proto__", 404, "rule_not_found"],
    ["a rule id with a NUL", "GET", "/api/v1/rules/a%00b", 404, "rule_not_found"],
    ["a path that is not encoded", "GET", "/api/v1/rules/%zz", 400, "malformed_request"],
    ["a path of 9 kB", "GET", `/api/v1/rules/${"a".repeat(9_000)}`, 414, "uri_too_long"],
    ["an id that is too long", "GET", `/api/v1/rules/${"a".repeat(600)}`, 400, "validation_failed"],
  ])("%s", async (_, method, path, status, code) => {
    const answer = await service.ask(method, path, method === "POST" ? { body: {} } : {});
    expect(answer.status).toBe(status);
    expectProblem(answer, code);
  });

  it("a method that the route does not support, and names those that it does", async () => {
    const answer = await service.ask("DELETE", "/api/v1/rules");
    expect(answer.headers.get("allow")).toBe("GET, HEAD, POST, PUT");
    expect((await service.ask("GET", "/api/v1/check")).headers.get("allow")).toBe("POST");
  });

  it.each([
    ["half an object", '{"identifier": '],
    ["nothing", ""],
    ["a prototype", '{"identifier":"1","endpoint":"/","__proto__":{"cost":0}}'],
    ["a constructor", '{"identifier":"1","endpoint":"/","constructor":{"prototype":{}}}'],
    ["an endless list", "[".repeat(60_000)],
  ])("a body that is %s", async (_, body) => {
    const answer = await service.ask("POST", "/api/v1/check", { body });
    expect(answer.status).toBe(400);
    expectProblem(answer, "malformed_json");
  });

  it.each(["null", "[]", '"text"', "1"])("a body that is the JSON %s and no object", async (body) => {
    const answer = await service.ask("POST", "/api/v1/check", { body });
    expect(answer.status).toBe(400);
    expectProblem(answer, "validation_failed");
  });

  it("a body that is too large, wherever it is not meant to be", async () => {
    const body = { identifier: "1", endpoint: "/", padding: "x".repeat(65 * 1024) };
    const answer = await service.ask("POST", "/api/v1/check", { body });
    expect(answer.status).toBe(413);
    expectProblem(answer, "body_too_large");
    const many = await service.ask("PUT", "/api/v1/rules", { body: { rules: [], padding: "x".repeat(100_000) } });
    expect(many.status).toBe(400);
  });

  it.each(["text/plain", "application/xml", "application/x-www-form-urlencoded", "nonsense"])(
    "a body of the type %s",
    async (type) => {
      const answer = await service.ask("POST", "/api/v1/check", { body: "a=1", headers: { "content-type": type } });
      expect(answer.status).toBe(415);
      expectProblem(answer, "unsupported_media_type");
    },
  );

  it("several fields at once, each by its name", async () => {
    const { body } = await service.ask("POST", "/api/v1/check", { body: { cost: -1, a: 1, b: 2 } });
    expect(body.errors.map(({ field }: { field: string }) => field).sort()).toEqual(["a", "b", "cost", "endpoint"]);
    expect(body.detail).toContain("(and 3 more)");
  });

  it.each([
    [{ cost: -1 }, "cost: must be at least 0, got -1"],
    [{ cost: 1.5 }, "cost: must be a whole number, got 1.5"],
    [{ cost: "1" }, 'cost: must be a number, got "1"'],
    [{ cost: [1, 2] }, "cost: must be a number, got a list"],
    [{ endpoint: undefined }, "endpoint: is required"],
    [{ with_limits: "yes" }, 'with_limits: must be true or false, got "yes"'],
    [{ identifier: "" }, "identifier: must have at least 1 character"],
    [{ method: "x".repeat(1_000) }, /^method: .{10,120}$/],
    [{ identities: [] }, /^identities: must have at least 1 entry/],
    [{ tokens: 1 }, "tokens: is not a known field"],
  ])("a check with %j, and says what it expected", async (fields, detail) => {
    const body = { identifier: "1", endpoint: "/", ...fields };
    const answer = await service.ask("POST", "/api/v1/check", { body });
    expectProblem(answer, "validation_failed");
    expect(answer.body.detail).toMatch(detail);
  });

  it("a query with a wrong field, by its place", async () => {
    const answer = await service.ask("GET", "/api/v1/users?limit=0");
    expect(answer.body.errors).toEqual([{ in: "query", field: "limit", problem: "must be at least 1, got 0" }]);
  });

  it("a path of 100 kB", async () => {
    const heard = await say(`GET /api/v1/rules/${"a".repeat(100_000)} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(heard).toMatch(/^HTTP\/1\.1 414 /);
    expect(heard).toContain("application/problem+json");
    expect(bodyOf(heard)).toMatchObject({ code: "uri_too_long", status: 414 });
  });

  it("headers of 100 kB", async () => {
    const heard = await say(`GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: ${"a".repeat(100_000)}\r\n\r\n`);
    expect(heard).toMatch(/^HTTP\/1\.1 431 /);
    expect(bodyOf(heard).code).toBe("headers_too_large");
  });

  it("a request that is not HTTP", async () => {
    const heard = await say("hello\r\n\r\n");
    expect(heard).toMatch(/^HTTP\/1\.1 400 /);
    expect(bodyOf(heard).code).toBe("malformed_request");
  });
});

describe("a service that waits for a fraction of a second", () => {
  // On a busy machine, the other tests take longer than that to send a request.
  let impatient: Service;
  beforeAll(async () => {
    impatient = await startService({ rest: { requestTimeoutMs: 600, headersTimeoutMs: 300 } });
  });
  afterAll(() => impatient.stop());

  it("answers 408 to a client that is slow with its headers", async () => {
    const heard = await say("GET /healthz HTTP/1.1\r\nHost: a\r\n", impatient);
    expect(heard).toMatch(/^HTTP\/1\.1 408 /);
    expect(bodyOf(heard).code).toBe("request_timeout");
  });

  it("answers 408 to a client that is slow with its body", async () => {
    const heard = await say(
      "POST /api/v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" +
        `Authorization: Bearer ${impatient.keys.check}\r\nContent-Length: 100\r\n\r\n{`,
      impatient,
    );
    expect(heard).toMatch(/^HTTP\/1\.1 408 /);
  });
});

it("does not read the body of a request without a key", async () => {
  const heard = await say(
    "PUT /api/v1/rules HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n" +
      "Content-Length: 30000000\r\n\r\n{",
  );
  expect(heard).toMatch(/^HTTP\/1\.1 401 /);
});

it("counts calls by route and never by path", async () => {
  service.calls.length = 0;
  await service.ask("GET", "/api/v1/users/secret-name/limits");
  await service.ask("GET", "/elsewhere/secret-name");
  await service.ask("GET", "/api/v1/rules/%zz");
  await service.ask("POST", "/api/v1/check", { body: { identifier: "secret-name", endpoint: "/" } });
  await service.ask("POST", "/api/v1/check", { body: {} });
  await service.ask("POST", "/api/v1/check", { body: {}, key: null });
  expect(service.calls).toEqual([
    "/api/v1/users/:user_id/limits 200",
    "unknown 404",
    "unknown 400",
    "/api/v1/check 200",
    "/api/v1/check 400",
    "/api/v1/check 401",
  ]);
});

it("does not expose internal errors", async () => {
  const logged: object[] = [];
  const logger = silentLogger((line) => logged.push(line));
  const broken = await startService({
    rest: { logger },
    parts: () => ({
      metricsText: () => {
        throw new Error("the password is 1234");
      },
    }),
  });
  try {
    const { status, text, body } = await broken.ask("GET", "/metrics");
    expect(status).toBe(500);
    expect(body.code).toBe("internal_error");
    expect(text).not.toContain("1234");
    expect(logged).toMatchObject([{ err: { message: "the password is 1234" } }]);
  } finally {
    await broken.stop();
  }
});

function silentLogger(tell: (line: object) => void) {
  const ignore = () => {};
  const logger = {
    level: "error",
    fatal: ignore,
    error: tell,
    warn: ignore,
    info: ignore,
    debug: ignore,
    trace: ignore,
    silent: ignore,
    child: () => logger,
  };
  return logger;
}
