import { eventually } from "headgate-testkit/eventually";
import { freePort } from "headgate-testkit/free-port";
import { type PostgresServer, startPostgres } from "headgate-testkit/postgres-server";
import { type NodeOptions, NodeProcess } from "headgate-testkit/service-process";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

function begun(options: NodeOptions): NodeProcess {
  const node = new NodeProcess(options);
  ended.push(() => node.end());
  return node;
}

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ fsync: "off" });
});
afterAll(() => server?.stop());

const waits = expect.objectContaining({
  err: expect.objectContaining({ message: expect.stringMatching(/check that it is running.*ECONNREFUSED/) }),
  level: "error",
  code: "HG_DATABASE_UNREACHABLE",
  msg: expect.stringMatching(/^PostgreSQL is unreachable: the node retries every second/),
});

describe("a node whose PostgreSQL is not there when it starts", () => {
  it("waits for it, reports that once, and starts when it is available", async () => {
    const url = await server.database();
    await server.shutDown();
    const node = begun({ flags: ["--postgres", url] });
    await eventually("it says that it waits", async () => node.log.length > 0);
    expect(node.log).toEqual([waits]);
    await server.start();
    await node.whenReady();
    expect(node.log.filter(({ level }) => level === "error")).toEqual([waits]);
    await node.addRule("once", "/once", 1);
    expect([await node.check("a", "/once"), await node.check("a", "/once")]).toEqual([200, 429]);
    expect(node.stderr).not.toContain(server.password);
    expect(await node.stop()).toBe(0);
  });

  it("answers health checks while it waits, and all other requests with an error to retry", async () => {
    const url = await server.database();
    await server.shutDown();
    const address = `127.0.0.1:${await freePort()}`;
    const node = begun({ flags: ["--postgres", url, "--http", address] });
    await eventually("it says that it waits", async () => node.log.length > 0);
    const ask = async (path: string, init?: RequestInit) => {
      const response = await fetch(`http://${address}${path}`, init);
      return { response, body: await response.json() };
    };
    const health = await ask("/healthz");
    expect([health.response.status, health.body]).toEqual([200, { status: "ok" }]);
    for (const [path, init] of [["/readyz"], ["/api/v1/check", { method: "POST", body: "{}" }]] as const) {
      const { response, body } = await ask(path, init);
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      expect(body).toMatchObject({ code: "not_ready", waiting: ["database"] });
    }
    await server.start();
    await node.whenReady();
    expect(node.url).toBe(`http://${address}`);
    expect((await ask("/readyz")).response.status).toBe(200);
    expect(await node.stop()).toBe(0);
  });

  it("can be stopped while it waits", async () => {
    const url = await server.database();
    await server.shutDown();
    const node = begun({ flags: ["--postgres", url] });
    await eventually("it says that it waits", async () => node.log.length > 0);
    expect(await node.stop()).toBe(0);
    await server.start();
  });

  it("does not wait for a database that rejects the connection", async () => {
    const url = await server.database();
    const wrong = [url.replace(server.password, "wrong-word"), `${url}_of_others`, `${url}?sslmode=require`];
    const nodes = wrong.map((address) => begun({ flags: ["--postgres", address] }));
    for (const node of nodes) {
      expect(await node.ended, node.stderr).toBe(1);
      expect(node.stderr).toMatch(/^headgate: database: /m);
      expect(node.stderr).not.toContain("wrong-word");
    }
  });
});
