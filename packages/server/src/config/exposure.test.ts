import { describe, expect, it } from "vitest";
import { rejectExposure } from "./exposure.ts";
import { readSettings, type SettingSources } from "./read-settings.ts";

const TLS = { "tls-cert": "c", "tls-key": "k" };

describe("an address that others can reach", () => {
  it.each<[SettingSources["flags"], RegExp]>([
    [{ http: "0.0.0.0:80" }, /^--http: other machines can reach 0\.0\.0\.0/],
    [{ http: "[::]:80" }, /^--http/],
    [{ http: "headgate.example:80" }, /^--http/],
    [{ http: "127.example:80" }, /^--http/],
    [{ grpc: "10.0.0.1:80" }, /^--grpc/],
    [{ grpc: "[::ffff:10.0.0.1]:80" }, /^--grpc/],
  ])("is refused in the clear: %j", async (flags, message) => {
    const { settings } = await readSettings({ flags, env: {} });
    expect(() => rejectExposure(settings)).toThrow(message);
  });

  it.each<[SettingSources["flags"]]>([
    [{ http: "0.0.0.0:80", ...TLS }],
    [{ http: "0.0.0.0:80", insecure: true }],
    [{ http: "[::1]:80", grpc: "off" }],
    [{ http: "localhost:80", grpc: "127.0.0.2:81" }],
  ])("is fine with TLS, with --insecure, or if it is this machine: %j", async (flags) => {
    const { settings } = await readSettings({ flags, env: {} });
    expect(() => rejectExposure(settings)).not.toThrow();
  });
});
