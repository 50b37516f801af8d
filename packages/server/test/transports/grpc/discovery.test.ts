import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { service as healthService } from "grpc-health-check";
import { describe, expect, it } from "vitest";
import { finallyDo } from "../finally-do.ts";
import { served } from "./fixtures.ts";

function clientOf(address: string): Client {
  const client = new Client(address, credentials.createInsecure());
  finallyDo(() => client.close());
  return client;
}

function health(client: Client, service: string): Promise<unknown> {
  const { Check } = healthService;
  const { path, requestSerialize, responseDeserialize } = Check;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      { service },
      new Metadata(),
      (error, answer) => (error === null ? resolve(answer) : reject(error)),
    );
  });
}

/** The answer to one request of the reflection protocol, as text, which contains names unchanged. */
function reflect(client: Client, version: string, question: Buffer): Promise<string> {
  const same = (message: Buffer): Buffer => message;
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const stream = client.makeBidiStreamRequest(path, same, same, new Metadata());
  return new Promise((resolve, reject) => {
    stream.on("error", reject);
    stream.on("data", (answer: Buffer) => {
      resolve(answer.toString("latin1"));
      stream.end();
    });
    stream.write(question);
  });
}

const text = (field: number, value: string): Buffer =>
  Buffer.concat([Buffer.from([(field << 3) | 2, value.length]), Buffer.from(value)]);

describe("without a key", () => {
  it.each(["", "headgate.v1.RateLimiter"])("the health of %o is reported", async (service) => {
    const { address } = await served();
    expect(await health(clientOf(address), service)).toEqual({ status: "SERVING" });
  });

  it("the health of what is not there is unknown", async () => {
    const { address } = await served();
    await expect(health(clientOf(address), "headgate.v9.Other")).rejects.toMatchObject({ code: 5 });
  });

  it.each(["v1", "v1alpha"])("reflection %s describes the service and its messages", async (version) => {
    const { address } = await served();
    const client = clientOf(address);
    expect(await reflect(client, version, text(7, ""))).toContain("headgate.v1.RateLimiter");
    const file = await reflect(client, version, text(4, "headgate.v1.RateLimiter"));
    for (const name of ["CheckRateLimitStream", "CheckRateLimitRequest", "idempotency_key"]) {
      expect(file).toContain(name);
    }
  });
});
