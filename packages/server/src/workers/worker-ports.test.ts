import { expect, it } from "vitest";
import { readSettings } from "../config/read-settings.ts";
import { portsOf, withPorts } from "./worker-ports.ts";

it("keeps the ports that the system has chosen, and leaves others alone", async () => {
  const ports = portsOf({
    url: "http://127.0.0.1:40001",
    addresses: { grpc: "127.0.0.1:40002", resp: "[::1]:40003", envoy: "unix:/run/envoy.sock" },
  });
  expect(ports).toEqual({ http: 40_001, grpc: 40_002, resp: 40_003 });
  const flags = { http: "127.0.0.1:0", grpc: "127.0.0.1:50000", resp: "[::1]:0" };
  const { settings } = await readSettings({ flags, env: {} });
  const { http, grpc, resp, envoy } = withPorts(settings, ports);
  expect([http.port, grpc?.port, resp?.port, envoy]).toEqual([40_001, 50_000, 40_003, undefined]);
});
