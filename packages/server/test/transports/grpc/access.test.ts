import { Metadata, status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { ROLES } from "../../../src/access/api-key.ts";
import { SelfLimits } from "../../../src/transports/shared/own-limits.ts";
import { by, call, check, quota, type Served, served } from "./fixtures.ts";
import { Dimension } from "./generated/headgate/v1/rate_limiter.ts";

const identity = { identifier: "42", dimension: Dimension.DIMENSION_USER, endpoint: "/api/v1/orders" };

/** Every method, and the role that it needs. */
const methods = {
  checkRateLimit: ["check", ({ client }: Served, as: Metadata) => call(client, client.checkRateLimit, check(), as)],
  getRemainingQuota: [
    "check",
    ({ client }: Served, as: Metadata) => call(client, client.getRemainingQuota, quota(), as),
  ],
  resetLimit: ["write", ({ client }: Served, as: Metadata) => call(client, client.resetLimit, identity, as)],
  checkRateLimitBatch: [
    "check",
    ({ client }: Served, as: Metadata) => call(client, client.checkRateLimitBatch, { checks: [check()] }, as),
  ],
  checkRateLimitStream: [
    "check",
    ({ client }: Served, as: Metadata) =>
      new Promise((resolve, reject) => {
        const stream = client.checkRateLimitStream(as);
        stream.on("error", reject).on("data", resolve);
        stream.write({ correlationId: "", checks: [check()] });
        stream.end();
      }),
  ],
} as const;

const cases = Object.entries(methods);

describe.each(cases)("%s", (_, [needed, ask]) => {
  it.each(ROLES)(
    "with the role %s alone is answered or PERMISSION_DENIED, as that is the one it needs",
    async (role) => {
      const scene = await served();
      const answer = ask(scene, by(role));
      if (role === needed) await answer;
      else
        await expect(answer).rejects.toMatchObject({
          code: status.PERMISSION_DENIED,
          details: expect.stringContaining(needed),
        });
    },
  );

  it("is UNAUTHENTICATED without a key, with an unknown one, and with another scheme", async () => {
    const scene = await served();
    for (const authorization of [undefined, "Bearer nonsense", "Basic YWRtaW4=", "", "admin-key"]) {
      const metadata = new Metadata();
      if (authorization !== undefined) metadata.set("authorization", authorization);
      await expect(ask(scene, metadata)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    }
    expect(scene.told.decisions).toEqual([]);
  });
});

describe("a stream", () => {
  it("ends when its key is revoked, charging nothing more", async () => {
    const { client, keys, told } = await served();
    const stream = client.checkRateLimitStream(by("check"));
    const failed = new Promise((resolve) => {
      stream.on("error", resolve);
    });
    stream.write({ correlationId: "1", checks: [check()] });
    await new Promise((resolve) => {
      stream.once("data", resolve);
    });
    keys.known.clear();
    stream.write({ correlationId: "2", checks: [check()] });
    expect(await failed).toMatchObject({ code: status.UNAUTHENTICATED });
    expect(told.decisions).toHaveLength(1);
  });
});

describe("the limits of the limiter itself", () => {
  it("hold for resets of each key", async () => {
    const scene = await served([], { selfLimits: new SelfLimits() });
    const { client } = scene;
    const failures: unknown[] = [];
    // All at once, and many more than the limit: it refills meanwhile.
    const resets = Array.from({ length: 200 }, () => call(client, client.resetLimit, identity, by("write")));
    await Promise.all(resets.map((reset) => reset.catch(({ code }) => failures.push(code))));
    expect(failures.length).toBeGreaterThanOrEqual(5);
    expect(new Set(failures)).toEqual(new Set([status.RESOURCE_EXHAUSTED]));
    await call(client, client.resetLimit, identity, by("admin"));
  });

  it("hold for the checks of a node, each of a batch being one", async () => {
    const asked: number[] = [];
    const limits = new SelfLimits();
    const selfLimits = {
      admit: limits.admit.bind(limits),
      admitChecks: (count: number) => {
        asked.push(count);
        return limits.admitChecks(count === 3 ? 200_000 : count);
      },
    };
    const { client, told } = await served([], { selfLimits });
    await call(client, client.checkRateLimit, check());
    await call(client, client.checkRateLimitBatch, { checks: [check(), check()] });
    await expect(
      call(client, client.checkRateLimitBatch, { checks: [check(), check(), check()] }),
    ).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    expect(asked).toEqual([1, 2, 3]);
    expect(told.decisions).toHaveLength(3);
  });
});
