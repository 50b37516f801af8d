import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { spawnChild } from "headgate-testkit/child-process";
import { eventually } from "headgate-testkit/eventually";
import { root } from "headgate-testkit/repository";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const INSTALL_TIMEOUT_MS = 600_000;

// Next.js takes 340 MB and minutes to install and build, so this test runs only when asked for.
describe.runIf(process.env["HEADGATE_NEXT"] !== undefined)("Next.js", () => {
  let folder = "";
  let next = "";
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "headgate-next-"));
    next = join(folder, "node_modules/next/dist/bin/next");
    cpSync(join(root, "test/next"), folder, { recursive: true });
    rmSync(join(folder, "next.test.ts"));
    await run("npm", ["install", "--no-audit", "--no-fund"], { cwd: folder });
    for (const part of ["package.json", "dist"]) {
      cpSync(join(root, "packages/core", part), join(folder, "node_modules/headgate", part), { recursive: true });
    }
  }, INSTALL_TIMEOUT_MS);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  describe.each([
    ["limit-pages.js", "proxy.js"],
    ["proxy.js", "middleware.js"],
  ])("with %s as %s", (from, to) => {
    let url = "";
    let stop = (): void => {};

    beforeAll(async () => {
      renameSync(join(folder, from), join(folder, to));
      await run(process.execPath, [next, "build"], { cwd: folder, env });
      let output = "";
      const hear = (text: string): void => {
        output += text;
      };
      const call = [next, "start", "--hostname", "127.0.0.1", "--port", "0"];
      const child = spawnChild(process.execPath, call, { cwd: folder, hear });
      stop = () => void child.kill("SIGKILL");
      await eventually("Next.js listens", async () => {
        if (child.exitCode !== null) throw new Error(`Next.js has ended:\n${output}`);
        const [, port] = /http:\/\/127\.0\.0\.1:(\d+)/.exec(output) ?? [];
        url = `http://127.0.0.1:${port}`;
        return port !== undefined && /Ready/.test(output);
      });
    }, INSTALL_TIMEOUT_MS);

    afterAll(() => stop());

    const ask = (path: string, client: string) => fetch(url + path, { headers: { "x-forwarded-for": client } });

    it("limits a route handler by client", async () => {
      const first = await ask("/items/7?all=1", "192.0.2.1");
      expect(first.status).toBe(200);
      expect(first.headers.get("ratelimit")).toContain('"items";r=1;');
      expect(await first.json()).toEqual({ id: "7", search: "?all=1", left: 1 });
      expect((await ask("/items/8", "192.0.2.1")).status).toBe(200);
      const denied = await ask("/items/9", "192.0.2.1");
      expect(denied.status).toBe(429);
      expect(Number(denied.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await denied.json()).toMatchObject({ "violated-policies": ["items"] });
      expect((await ask("/items/9", "192.0.2.2")).status).toBe(200);
    });

    it("limits pages before they are rendered", async () => {
      const first = await ask("/pages", "192.0.2.1");
      expect(first.status).toBe(200);
      expect(first.headers.get("ratelimit")).toContain('"pages";r=1;');
      expect(await first.text()).toContain("a page");
      expect((await ask("/pages", "192.0.2.1")).status).toBe(200);
      const denied = await ask("/pages", "192.0.2.1");
      expect(denied.status).toBe(429);
      expect(await denied.json()).toMatchObject({ "violated-policies": ["pages"] });
      expect((await ask("/pages", "192.0.2.2")).status).toBe(200);
    });
  });
});
