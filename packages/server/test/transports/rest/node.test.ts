import { afterEach, expect, it } from "vitest";
import { type Service, startService } from "./service.ts";

let service: Service;
afterEach(() => service.stop());

it("reports that it is alive, and whether it is ready", async () => {
  const waiting: string[] = ["the store"];
  service = await startService({ parts: () => ({ ready: () => waiting }) });
  expect((await service.ask("GET", "/healthz", { key: null })).body).toEqual({ status: "ok" });
  const { status, body } = await service.ask("GET", "/readyz", { key: null });
  expect([status, body.code, body.waiting]).toEqual([503, "not_ready", ["the store"]]);
  waiting.length = 0;
  expect((await service.ask("GET", "/readyz", { key: null })).body).toEqual({ status: "ready" });
});

it("is ready without the store of counters, and says that it cannot be reached", async () => {
  let store: "reachable" | "unreachable" = "unreachable";
  service = await startService({ parts: () => ({ store: () => store }) });
  const ready = () => (service as Service).ask("GET", "/readyz", { key: null });
  expect(await ready()).toMatchObject({ status: 200, body: { status: "ready", store: "unreachable" } });
  store = "reachable";
  expect((await ready()).body).toEqual({ status: "ready", store: "reachable" });
});

it("gives Prometheus its figures", async () => {
  service = await startService();
  const { status, text, headers } = await service.ask("GET", "/metrics", { key: service.keys.read });
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(text).toContain("headgate_up 1");
});

it("reports what rules have decided, for a span that is not too long", async () => {
  service = await startService();
  const minute = new Date(Math.floor(service.clock.now() / 60e6) * 60e3).toISOString();
  const rollup = {
    period: "minute",
    start: minute,
    rule_id: "orders",
    allowed: 5,
    denied: 2,
    shadow_denied: 0,
    candidate_denied: 0,
  } as const;
  await service.database.rollups.add([rollup]);
  const { body } = await service.ask("GET", "/api/v1/usage");
  expect(body.rollups).toEqual([
    { start: minute, rule_id: "orders", allowed: 5, denied: 2, shadow_denied: 0, candidate_denied: 0 },
  ]);
  expect((await service.ask("GET", "/api/v1/usage?rule_id=other")).body.rollups).toEqual([]);
  const long = "/api/v1/usage?from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z";
  expect((await service.ask("GET", long)).body.errors[0].field).toBe("from");
  expect((await service.ask("GET", `${long}&period=day`)).status).toBe(200);
  await service.database.rollups.add([{ ...rollup, rule_id: "search" }]);
  const first = await service.ask("GET", "/api/v1/usage?limit=1");
  expect(first.body.rollups).toMatchObject([{ rule_id: "orders" }]);
  const second = await service.ask("GET", `/api/v1/usage?limit=1&cursor=${first.body.next}`);
  expect([second.body.rollups, second.body.next]).toMatchObject([[{ rule_id: "search" }], undefined]);
  expect((await service.ask("GET", "/api/v1/usage?limit=1001")).status).toBe(400);
  expect((await service.ask("GET", "/api/v1/usage?cursor=x")).body.errors[0].field).toBe("cursor");
  const back = "/api/v1/usage?from=2026-01-03T00:00:00Z&to=2026-01-01T00:00:00Z";
  expect((await service.ask("GET", back)).status).toBe(400);
});

it("reports the most denied identities", async () => {
  service = await startService();
  const { body } = await service.ask("GET", "/api/v1/top-denied?limit=1");
  const keys = [{ dimension: "user", identifier: "42", denied: 3, error: 0 }];
  expect(body).toEqual({ keys, nodes: 2, complete: true });
});

it("finds audit entries by user, action and time, by page", async () => {
  service = await startService();
  for (const tier of ["a", "b", "c"]) await service.ask("PUT", "/api/v1/users/42/tier", { body: { tier } });
  await service.ask("PUT", "/api/v1/users/43/tier", { body: { tier: "a" } });
  const first = await service.ask("GET", "/api/v1/audit?user=42&limit=2");
  expect(first.body.entries).toHaveLength(2);
  const rest = await service.ask("GET", `/api/v1/audit?user=42&limit=2&cursor=${first.body.next}`);
  expect(rest.body.entries).toHaveLength(1);
  expect(rest.body.next).toBeUndefined();
  const seqs = [...first.body.entries, ...rest.body.entries].map(({ seq }: { seq: number }) => seq);
  expect(new Set(seqs).size).toBe(3);
  const none = await service.ask("GET", "/api/v1/audit?user=42&to=2020-01-01T00:00:00Z");
  expect(none.body.entries).toEqual([]);
  expect((await service.ask("GET", "/api/v1/audit?user=42&subject=user:42")).status).toBe(400);
});
