import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { credentials, Metadata } from "@grpc/grpc-js";
import { startNode } from "headgate-testkit/service-process";
import { afterAll, expect, it } from "vitest";
import { RateLimiterClient } from "../transports/grpc/generated/headgate/v1/rate_limiter.ts";
import { check } from "../transports/grpc/requests.ts";

const OPENSSL = "openssl";
const folder = mkdtempSync(join(tmpdir(), "headgate-tls-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("listens with TLS, for REST and gRPC, and requires client certificates if configured", async () => {
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const subject = ["-subj", "/CN=headgate", "-addext", "subjectAltName=IP:127.0.0.1,DNS:headgate"];
  execFileSync(OPENSSL, [...made, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
  const tls = ["--tls-cert", cert, "--tls-key", key, "--tls-client-ca", cert];
  const node = await startNode({ flags: ["--http", "0.0.0.0:0", "--grpc", "0.0.0.0:0", ...tls] });
  try {
    expect(node.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const [ca, ourKey] = [readFileSync(cert), readFileSync(key)];
    expect(await status(`${node.url}/readyz`, { ca, cert: ca, key: ourKey })).toBe(200);
    await expect(status(`${node.url}/readyz`, { ca })).rejects.toThrow();

    // grpc-js would name the address as the server, which Node 26 does not allow.
    const named = { "grpc.ssl_target_name_override": "headgate" };
    const client = new RateLimiterClient(node.grpcAddress, credentials.createSsl(ca, ourKey, ca), named);
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${node.key}`);
    const asked = check({ identifier: "a", endpoint: "/" });
    const answer = await new Promise((resolve, reject) => {
      client.checkRateLimit(asked, metadata, (error, value) => (error === null ? resolve(value) : reject(error)));
    });
    expect(answer).toMatchObject({ allowed: true });
    client.close();
    expect(await node.stop()).toBe(0);
  } finally {
    await node.end();
  }
});

function status(url: string, options: object): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, options, (response) => resolve(response.resume().statusCode))
      .once("error", reject)
      .end();
  });
}
