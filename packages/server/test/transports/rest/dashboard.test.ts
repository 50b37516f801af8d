import { brotliCompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Service, startService } from "./service.ts";

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** The files that the page names, and those that they load. */
async function files(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const visit = async (path: string): Promise<void> => {
    if (found.has(path)) return;
    const { status, text } = await service.ask("GET", path, { key: null });
    expect([path, status]).toEqual([path, 200]);
    found.set(path, text);
    for (const [file] of text.matchAll(/\/?assets\/[\w-]+(?:\.[\w-]+)*\.(?:js|css|svg)/g)) {
      await visit(file.startsWith("/") ? file : `/${file}`);
    }
    for (const [, file] of text.matchAll(/["'`]\.\/([\w-]+(?:\.[\w-]+)*\.js)["'`]/g)) await visit(`/assets/${file}`);
  };
  await visit("/");
  return found;
}

it("loads at most 120 kB, compressed, and nothing from elsewhere", async () => {
  const all = await files();
  expect(all.size).toBeGreaterThan(2);
  const sizes = [...all.values()].map((text) => brotliCompressSync(text).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(total).toBeGreaterThan(10_000);
  expect(total).toBeLessThan(120_000);
  const page = all.get("/") ?? "";
  expect(page).not.toMatch(/(?:src|href)="https?:|<script>|<style|style=|\son\w+=/);
});

it("has a strict policy, and files whose names change with their content", async () => {
  const { headers } = await service.ask("GET", "/", { key: null });
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
      "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("cache-control")).toBe("no-cache");
  const [script] = [...(await files()).keys()].filter((path) => path.endsWith(".js"));
  const asset = await service.ask("GET", script, { key: null });
  expect(asset.headers.get("cache-control")).toContain("immutable");
  expect(asset.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
});

it("sends compressed files to clients that accept them, and plain ones to others", async () => {
  for (const encoding of ["br", "gzip", "identity"]) {
    const { headers } = await service.ask("GET", "/", { key: null, headers: { "accept-encoding": encoding } });
    expect(headers.get("content-encoding")).toBe(encoding === "identity" ? null : encoding);
  }
});

it("leads from the address of the old page to the reference, and serves no other files", async () => {
  const old = await service.ask("GET", "/docs", { key: null });
  expect([old.status, old.headers.get("location")]).toEqual([302, "/#/api"]);
  for (const path of ["/assets/index.html", "/assets/..%2findex.html", "/assets/..%2f..%2fpackage.json", "/assets/x"]) {
    expect([path, (await service.ask("GET", path, { key: null })).status]).toEqual([path, 404]);
  }
});
