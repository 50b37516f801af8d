import { copyFileSync, readFileSync } from "node:fs";
import { type ChannelCredentials, credentials, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Certificates, makeCertificates } from "../certificates.ts";
import { finallyDo } from "../finally-do.ts";
import { call, check, served } from "./fixtures.ts";
import { RateLimiterClient } from "./generated/headgate/v1/rate_limiter.ts";

let certificates: Certificates;
const at = (name: string): string => certificates.at(name);
const read = (name: string): Buffer => readFileSync(at(name));

beforeAll(() => {
  certificates = makeCertificates();
});
afterAll(() => certificates.remove());

async function ask(port: number, secured: ChannelCredentials): Promise<unknown> {
  // With its own connection.
  const client = new RateLimiterClient(`localhost:${port}`, secured, { "grpc.use_local_subchannel_pool": 1 });
  finallyDo(() => client.close());
  return call(client, client.checkRateLimit, check());
}

describe("certificates that are read again", () => {
  it("are used for new connections, while existing ones continue", async () => {
    const [cert, key] = [at("renewed.pem"), at("renewed.key")];
    copyFileSync(at("server.pem"), cert);
    copyFileSync(at("server.key"), key);
    const scene = await served(undefined, { tls: { cert, key, clientCa: undefined } });
    const { port } = scene.server.address;
    const before = new RateLimiterClient(`localhost:${port}`, credentials.createSsl(read("ca.pem")));
    finallyDo(() => before.close());
    await call(before, before.checkRateLimit, check());
    copyFileSync(at("stranger.pem"), cert);
    expect(() => scene.server.reloadCertificates()).toThrow(/--tls-key: .* is not the private key of/);
    expect(await ask(port, credentials.createSsl(read("ca.pem")))).toMatchObject({ allowed: true });
    copyFileSync(at("stranger.key"), key);
    scene.server.reloadCertificates();
    expect(await ask(port, credentials.createSsl(read("other-ca.pem")))).toMatchObject({ allowed: true });
    await call(before, before.checkRateLimit, check());
  });
});

describe("with TLS", () => {
  it("answers clients that trust its authority, and none without TLS", async () => {
    const tls = { cert: at("server.pem"), key: at("server.key"), clientCa: undefined };
    const { port } = (await served(undefined, { tls })).server.address;
    expect(await ask(port, credentials.createSsl(read("ca.pem")))).toMatchObject({ allowed: true });
    await expect(ask(port, credentials.createSsl(read("other-ca.pem")))).rejects.toMatchObject({
      code: status.UNAVAILABLE,
    });
    await expect(ask(port, credentials.createInsecure())).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });

  it("and an authority for clients answers only those with a certificate of it", async () => {
    const tls = { cert: at("server.pem"), key: at("server.key"), clientCa: at("ca.pem") };
    const { port } = (await served(undefined, { tls })).server.address;
    expect(await ask(port, certificates.as("client"))).toMatchObject({ allowed: true });
    await expect(ask(port, certificates.as("stranger"))).rejects.toMatchObject({ code: status.UNAVAILABLE });
    await expect(ask(port, credentials.createSsl(read("ca.pem")))).rejects.toMatchObject({ code: status.UNAVAILABLE });
  });

  it("does not start without the files", async () => {
    const tls = { cert: at("nowhere.pem"), key: at("server.key"), clientCa: undefined };
    await expect(served(undefined, { tls })).rejects.toMatchObject({
      message: expect.stringMatching(/^--tls-cert: .*nowhere\.pem: no such file$/),
    });
  });
});
