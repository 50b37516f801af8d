import { afterEach, expect, it } from "vitest";
import { makeKey } from "../../../src/access/secret.ts";
import { NodeReports } from "../../../src/metrics/node-reports.ts";
import { NodeTelemetry } from "../../../src/metrics/node-telemetry.ts";
import { eventually, type Service, startService } from "./service.ts";

let service: Service | undefined;
afterEach(() => service?.stop());

function node(database: Service["database"], name: string, store?: "unreachable"): [NodeReports, NodeTelemetry] {
  const telemetry = new NodeTelemetry();
  return [
    new NodeReports(telemetry, database.nodes, { name, version: "1.0.0", store: () => store }, 0, name),
    telemetry,
  ];
}

it("gives the same picture of all nodes, whichever is asked", async () => {
  service = await startService();
  const [a, ofA] = node(service.database, "a");
  const [b, ofB] = node(service.database, "b", "unreachable");
  ofA.checks.allowed += 30;
  ofB.checks.allowed += 8;
  ofB.checks.denied += 2;
  await a.write(2_000);
  await b.write(2_000);
  const picture = await a.picture(3_000);
  expect(picture).toMatchObject({ allowed: 19, denied: 1, complete: true });
  expect(picture.nodes.map(({ name, store }) => [name, store])).toEqual([
    ["a", "memory"],
    ["b", "unreachable"],
  ]);
  expect(await b.picture(3_000)).toEqual(picture);
  // Rates, not totals: nothing happened since.
  await a.write(4_000);
  expect((await b.picture(4_000)).allowed).toBe(4);
  await b.leave();
  expect((await a.picture(4_000)).nodes).toHaveLength(1);
  expect((await a.picture(15_000)).nodes).toHaveLength(0);
});

it("is a stream of events, until its key is revoked", async () => {
  const { record, secret } = makeKey("leaving", ["read"]);
  service = await startService();
  await service.database.keys.add(record, { id: "system", name: "test" });
  const { url } = service;
  const open = () => fetch(`${url}/api/v1/live`, { headers: { authorization: `Bearer ${secret}` } });
  let response = await open();
  await eventually(async () => {
    response = await open();
    expect(response.status).toBe(200);
  });
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const first = await reader?.read();
  expect(first?.value).toMatch(/^event: picture\ndata: \{"at":.*\}\n\n$/);
  await service.database.keys.revoke(record.key_id, { id: "system", name: "test" });
  for (;;) if ((await reader?.read())?.done !== false) break;
});

it("ends when the node stops", async () => {
  const started = await startService();
  const response = await fetch(`${started.url}/api/v1/live`, {
    headers: { authorization: `Bearer ${started.keys.read}` },
  });
  await started.stop();
  expect(await response.text()).toContain("event: picture");
});
