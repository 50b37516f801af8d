import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { status } from "@grpc/grpc-js";
import type { World } from "../../checks/fixtures.ts";
import { finallyDo } from "../finally-do.ts";
import { by, call, served } from "../grpc/fixtures.ts";
import { Dimension, type ReserveResponse } from "../grpc/generated/headgate/v1/rate_limiter.ts";
import { startService } from "../rest/service.ts";

export interface Asked {
  readonly checks: readonly { readonly endpoint: string; readonly cost: number; readonly identifier: string }[];
  readonly forMs: number;
  readonly maxWaitMs: number;
}

/** What a transport reports about a reservation, in one form. */
export type Said =
  | { readonly word: "reserved"; readonly id: string; readonly expiresAtMs: number; readonly remaining: number[] }
  | { readonly word: "denied"; readonly retryAfter: number }
  | { readonly word: "conflict" | "invalid" };

/** A node that makes reservations under idempotency keys. */
export interface RepeatingChannel {
  reserve(idempotencyKey: string, asked: Asked, signal?: AbortSignal): Promise<Said>;
  /** As another client. */
  reserveAsStranger(idempotencyKey: string, asked: Asked): Promise<Said>;
  settle(id: string, tokens: number): Promise<void>;
  release(id: string): Promise<void>;
}

interface RestAnswer {
  readonly code: string;
  readonly reservation_id: string;
  readonly expires_at_ms: number;
  readonly limits: readonly { readonly remaining: number }[];
}

/** Over HTTP, with the counters of a world. */
export async function restChannel({ reservations }: World): Promise<RepeatingChannel> {
  const service = await startService({ rules: [], parts: () => ({ reservations }) });
  finallyDo(() => service.stop());
  // The names that the keys of gRPC have in its tests.
  const [key, stranger] = await Promise.all(
    ["check", "stranger"].map(async (namespace) => {
      const body = { name: namespace, roles: ["check"], namespace };
      return (await service.ask("POST", "/api/v1/keys", { body })).body.key as string;
    }),
  );
  const reserve = async (key: string, idempotencyKey: string, asked: Asked, signal?: AbortSignal): Promise<Said> => {
    const { checks, forMs: for_ms, maxWaitMs: max_wait_ms } = asked;
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "x-idempotency-key": idempotencyKey,
    };
    const sent = request(`${service.url}/api/v1/reservations`, {
      method: "POST",
      headers,
      // With its own connection, so that nothing stays open when the client goes.
      agent: false,
      ...(signal && { signal }),
    });
    sent.end(JSON.stringify({ checks, for_ms, max_wait_ms }));
    const [response]: IncomingMessage[] = await once(sent, "response");
    const { statusCode } = response;
    const answer: RestAnswer = JSON.parse(await text(response));
    if (statusCode === 422) return { word: answer.code === "idempotency_conflict" ? "conflict" : "invalid" };
    if (statusCode === 400) return { word: "invalid" };
    if (statusCode !== 201) return { word: "denied", retryAfter: Number(response.headers["retry-after"]) };
    const { reservation_id: id, expires_at_ms: expiresAtMs, limits } = answer;
    const remaining = limits.map(({ remaining }) => remaining);
    return { word: "reserved", id, expiresAtMs, remaining };
  };
  return {
    reserve: (idempotencyKey, asked, signal) => reserve(key, idempotencyKey, asked, signal),
    reserveAsStranger: (idempotencyKey, asked) => reserve(stranger, idempotencyKey, asked),
    async settle(id, tokens) {
      await service.ask("POST", `/api/v1/reservations/${id}/settle`, { body: { costs: { tokens } }, key });
    },
    async release(id) {
      await service.ask("DELETE", `/api/v1/reservations/${id}`, { key });
    },
  };
}

/** Over gRPC, with the counters of a world. */
export async function grpcChannel(world: World): Promise<RepeatingChannel> {
  const { client, keys } = await served(undefined, { world });
  keys.add("stranger", ["check"]);
  const reserve = async (key: string, idempotencyKey: string, asked: Asked, signal?: AbortSignal): Promise<Said> => {
    const checks = asked.checks.map((check) => ({ ...check, dimension: Dimension.DIMENSION_USER, method: "" }));
    const metadata = by(key);
    // Keys may be in the metadata or in the message.
    const isInMetadata = asked.maxWaitMs === 0;
    if (isInMetadata) metadata.set("x-idempotency-key", idempotencyKey);
    const request = {
      checks,
      forMs: asked.forMs,
      maxWaitMs: asked.maxWaitMs,
      idempotencyKey: isInMetadata ? "" : idempotencyKey,
    };
    try {
      const {
        allowed,
        reservationId: id,
        expiresAtMs,
        decision,
      } = await new Promise<ReserveResponse>((resolve, reject) => {
        const calling = client.reserve(request, metadata, {}, (error, answer) => {
          return error === null ? resolve(answer) : reject(error);
        });
        signal?.addEventListener("abort", () => calling.cancel());
      });
      if (!allowed) return { word: "denied", retryAfter: decision?.retryAfter ?? 0 };
      return { word: "reserved", id, expiresAtMs, remaining: decision?.limits.map(({ remaining }) => remaining) ?? [] };
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === status.ALREADY_EXISTS) return { word: "conflict" };
      if (code === status.INVALID_ARGUMENT) return { word: "invalid" };
      throw error;
    }
  };
  return {
    reserve: (idempotencyKey, asked, signal) => reserve("check", idempotencyKey, asked, signal),
    reserveAsStranger: (idempotencyKey, asked) => reserve("stranger", idempotencyKey, asked),
    async settle(reservationId, tokens) {
      await call(client, client.settle, { reservationId, costs: { tokens } }, by("check"));
    },
    async release(reservationId) {
      await call(client, client.release, { reservationId }, by("check"));
    },
  };
}
