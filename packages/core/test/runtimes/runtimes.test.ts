import { execFile } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { installed, type Runtime, runtimes, Served } from "./runtimes.ts";

/** What the site tells about itself. */
interface State {
  /** Of the 10 tokens of a key. */
  readonly used: number;
  /** How requests ended, in their order. */
  readonly endings: readonly { readonly status?: number; readonly aborted: boolean }[];
  /** How many requests the gate that takes its time has begun to decide, and the slow handler to serve. */
  readonly asked: number;
  readonly served: number;
}

const PATIENT = { timeout: 20_000, interval: 20 };
const RESERVED = 6;

it.runIf(process.platform === "linux" && process.arch === "x64")("every runtime is there on Linux", () => {
  expect(runtimes.filter(({ program }) => program === undefined)).toEqual([]);
});

for (const runtime of runtimes) {
  const { name, program } = runtime;
  if (program === undefined) describe.skip(`${name}: no package for ${process.platform}-${process.arch}`);
  else describe(name, () => runtimeSuite(runtime, program));
}

function runtimeSuite(runtime: Runtime, program: string): void {
  const folder = installed();
  let url = "";
  let served: Served | undefined;

  beforeAll(async () => {
    served = new Served(program, await runtime.prepare(folder));
    await served.listening();
    url = served.url;
  });

  afterAll(async () => {
    await served?.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = (path: string, headers: Record<string, string>) => fetch(url + path, { headers });
  const stateOf = async (key: string): Promise<State> => {
    const response = await fetch(`${url}/state?key=${key}`);
    return (await response.json()) as State;
  };

  /** Answers what has become of a key since this call. */
  async function observe(key: string): Promise<() => Promise<State>> {
    const before = await stateOf(key);
    return async () => {
      const { used, endings, asked, served } = await stateOf(key);
      return {
        used,
        endings: endings.slice(before.endings.length),
        asked: asked - before.asked,
        served: served - before.served,
      };
    };
  }

  /** Sends a request whose client stays until it is told to leave. */
  function visit(path: string, key: string) {
    let bytes = 0;
    const request = get(url + path, { agent: false, headers: { "x-key": key } }, (response) => {
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on("error", () => {});
    });
    request.on("error", () => {});
    const leave = () => {
      if (runtime.leavesBy === "close") request.destroy();
      else request.socket?.resetAndDestroy();
    };
    return { bytes: () => bytes, leave };
  }

  it("knows the address of a client", async () => {
    const statuses: number[] = [];
    // Only Workers believe this header, which Cloudflare sets.
    for (const client of ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"]) {
      statuses.push((await ask("/address", { "cf-connecting-ip": client })).status);
    }
    expect(statuses).toEqual([200, 200, 429, runtime.name === "Cloudflare Workers" ? 200 : 429]);
  });

  it("waits as another server asks, with headgate/client", async () => {
    const times: number[] = [];
    const upstream = createServer((_, response) => {
      times.push(performance.now());
      response.writeHead(times.length === 1 ? 429 : 200, { "Retry-After": "1" }).end();
    });
    upstream.listen(0, "127.0.0.1");
    onTestFinished(() => void upstream.close());
    await once(upstream, "listening");
    const { port } = upstream.address() as AddressInfo;
    const response = await ask(`/client?url=http://127.0.0.1:${port}/`, {});
    expect(await response.json()).toEqual({ status: 200, retries: [{ status: 429, waitMs: expect.any(Number) }] });
    expect(times[1] - times[0]).toBeGreaterThanOrEqual(990);
  });

  const { redis } = runtime;
  if (redis !== undefined) {
    it("shares limits through Redis", async () => {
      const server = await startRedis();
      onTestFinished(() => server.stop());
      const { stdout } = await promisify(execFile)(program, [...redis(folder), server.url]);
      expect(JSON.parse(stdout)).toEqual({
        reservation: { reserved: RESERVED, settled: 2, source: "store" },
        clients: { ioredis: 10, redis: 10, iovalkey: 10 },
        wrappers: { resilient: 10, leased: 10, cached: 10, split: 10 },
      });
    });
  }

  describe.each(["web", "hono"])("headgate/%s", (door) => {
    it("limits", async () => {
      const responses: Response[] = [];
      for (let i = 0; i < 3; i += 1) responses.push(await ask(`/${door}`, { "x-key": door }));
      expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
      const [first, , last] = responses;
      expect(first.headers.get("ratelimit")).toContain('"requests";r=1;');
      expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await last.json()).toMatchObject({ "violated-policies": ["requests"] });
    });

    it("settles the cost of a stream that is read to its end", async () => {
      const observed = await observe(`${door}-whole`);
      const response = await ask(`/${door}/stream?bytes=3`, { "x-key": `${door}-whole` });
      expect(await response.text()).toBe("xxx");
      await expect.poll(observed, PATIENT).toMatchObject({ used: 3, endings: [{ status: 200, aborted: false }] });
    });

    it("does not serve a client that leaves while it is decided about", async () => {
      const observed = await observe(`${door}-leaves`);
      const client = visit(`/${door}/deciding`, `${door}-leaves`);
      await expect.poll(async () => (await observed()).asked, PATIENT).toBe(1);
      client.leave();
      const other = visit(`/${door}/deciding`, `${door}-stays`);
      const usedByOther = async () => (await stateOf(`${door}-stays`)).used;
      await expect.poll(async () => (await observed()).asked, PATIENT).toBe(2);
      await fetch(`${url}/decide`);
      await expect.poll(usedByOther, PATIENT).toBe(RESERVED);
      other.leave();
      await expect.poll(usedByOther, PATIENT).toBe(0);
      // Each is decided in its own time, so the first may come last.
      const endings = Array.from({ length: runtime.cancelsHandlers ? 1 : 2 }, () => ({ aborted: true }));
      await expect.poll(observed, PATIENT).toMatchObject({ used: 0, served: 1, endings });
    });

    it("gives the estimate back to a client that leaves before the response", async () => {
      const observed = await observe(`${door}-before`);
      const client = visit(`/${door}/wait`, `${door}-before`);
      await expect.poll(observed, PATIENT).toMatchObject({ used: RESERVED, served: 1 });
      client.leave();
      await expect.poll(observed, PATIENT).toMatchObject({ used: 0, endings: [{ aborted: true }] });
      expect((await observed()).endings[0].status).toBeUndefined();
    });

    it("charges the estimate to a client that leaves during a stream", async () => {
      const observed = await observe(`${door}-during`);
      const client = visit(`/${door}/stream?bytes=100000`, `${door}-during`);
      await expect.poll(client.bytes, PATIENT).toBeGreaterThan(2);
      client.leave();
      await expect.poll(observed, PATIENT).toMatchObject({ used: RESERVED, endings: [{ status: 200, aborted: true }] });
    });
  });
}
