import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { expect } from "vitest";

/** A request by a client that reads what arrives, and can leave at any point. */
export interface Visit {
  hasHeaders(): Promise<void>;
  hasBytes(count: number): Promise<void>;
  hasEnded(): Promise<void>;
  leave(): void;
}

export function visit(url: string): Visit {
  let response: IncomingMessage | undefined;
  let bytes = 0;
  let ended = false;
  const request = get(url, { agent: false }, (incoming) => {
    response = incoming;
    incoming.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    incoming.on("end", () => {
      ended = true;
    });
    incoming.on("error", () => {});
  });
  request.on("error", () => {});
  return {
    hasHeaders: () => expect.poll(() => response?.statusCode, PATIENT).toBe(200),
    hasBytes: (count) => expect.poll(() => bytes, PATIENT).toBe(count),
    hasEnded: () => expect.poll(() => ended, PATIENT).toBe(true),
    leave: () => void request.destroy(),
  };
}

/** What a later request learns about the quota, from its headers. */
export async function remainingByHeader(url: string): Promise<number> {
  const request = get(url, { agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
  const { ratelimit } = response.headers;
  const [, remaining] = /;r=(\d+)/.exec(String(ratelimit)) ?? [];
  return Number(remaining);
}

/** A busy machine is slow, which is not a failure. */
export const PATIENT = { timeout: 20_000, interval: 5 };
