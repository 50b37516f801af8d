import { status } from "@grpc/grpc-js";
import type { RateLimitRule } from "../../../src/rules/rule.ts";
import { finallyDo } from "../finally-do.ts";
import { by, call, served as grpcServed } from "../grpc/fixtures.ts";
import { Dimension } from "../grpc/generated/headgate/v1/rate_limiter.ts";
import { startService } from "../rest/service.ts";

export interface ReservedCheck {
  readonly identifier: string;
  readonly dimension: "user" | "ip";
  readonly endpoint: string;
  readonly cost: number;
}

/** What a transport reports about a call, in one form. */
type Word = "done" | "denied" | "invalid" | "unknown" | "settled" | "lost";

interface Reserved {
  readonly word: Word;
  readonly id: string;
  /** Milliseconds from now. */
  readonly expiresInMs: number;
  readonly reserved: readonly object[];
  /** Of each limit. */
  readonly remaining: readonly number[];
}

/** A transport with reservations, on a memory store and a clock that the test moves. Two clients have keys. */
export interface ReservingChannel {
  reserve(checks: readonly ReservedCheck[], forMs: number): Promise<Reserved>;
  extend(id: string, forMs: number, isStranger: boolean): Promise<Word>;
  settle(id: string, costs: Record<string, number>, isStranger: boolean): Promise<Word>;
  release(id: string, isStranger: boolean): Promise<Word>;
  advance(ms: number): Promise<void>;
}

type StartChannel = (rules: readonly RateLimitRule[]) => Promise<ReservingChannel>;

const NOTHING = { id: "", expiresInMs: 0, reserved: [], remaining: [] };

export const reservingChannels: Readonly<Record<"rest" | "grpc", StartChannel>> = {
  async rest(rules) {
    const service = await startService({ rules });
    finallyDo(() => service.stop());
    const body = { name: "stranger", roles: ["check"] };
    const stranger = (await service.ask("POST", "/api/v1/keys", { body })).body.key;
    const ask = (method: string, path: string, body: object | undefined, isStranger = false) => {
      const key = isStranger ? stranger : service.keys.check;
      return service.ask(method, `/api/v1/reservations${path}`, { ...(body && { body }), key });
    };
    const wordOf = ({ status, body }: { readonly status: number; readonly body?: { readonly code: string } }): Word => {
      if (status < 300) return "done";
      return WORDS_OF_REST[body?.code ?? ""];
    };
    return {
      advance: (ms) => service.clock.advance(ms),
      async reserve(checks, for_ms) {
        const answer = await ask("POST", "", { checks, for_ms });
        if (answer.status !== 201) return { ...NOTHING, word: wordOf(answer) };
        const { reservation_id, expires_at_ms, reserved, limits } = answer.body;
        return {
          word: "done",
          id: reservation_id,
          expiresInMs: expires_at_ms - service.clock.now() / 1000,
          reserved,
          remaining: limits.map(({ remaining }: { readonly remaining: number }) => remaining),
        };
      },
      extend: async (id, for_ms, isStranger) => wordOf(await ask("PATCH", `/${id}`, { for_ms }, isStranger)),
      settle: async (id, costs, isStranger) => wordOf(await ask("POST", `/${id}/settle`, { costs }, isStranger)),
      release: async (id, isStranger) => wordOf(await ask("DELETE", `/${id}`, undefined, isStranger)),
    };
  },

  async grpc(rules) {
    const { client, clock, keys } = await grpcServed(rules);
    await clock.advance(1_000);
    keys.add("stranger", ["check"]);
    const keyOf = (isStranger: boolean) => by(isStranger ? "stranger" : "check");
    const wordOf = async (answer: Promise<unknown>): Promise<Word> => {
      try {
        await answer;
        return "done";
      } catch (error) {
        const code = error instanceof Error && "code" in error ? Number(error.code) : status.UNKNOWN;
        return WORDS_OF_GRPC[code];
      }
    };
    return {
      advance: (ms) => clock.advance(ms),
      async reserve(checks, forMs) {
        const asked = checks.map(({ dimension, ...check }) => {
          const isUser = dimension === "user";
          return { ...check, dimension: isUser ? Dimension.DIMENSION_USER : Dimension.DIMENSION_IP, method: "" };
        });
        const request = { checks: asked, forMs, maxWaitMs: 0, idempotencyKey: "" };
        const answering = call(client, client.reserve, request, by("check"));
        const word = await wordOf(answering);
        if (word !== "done") return { ...NOTHING, word };
        const { allowed, reservationId, expiresAtMs, reserved, decision } = await answering;
        if (!allowed) return { ...NOTHING, word: "denied" };
        return {
          word,
          id: reservationId,
          expiresInMs: expiresAtMs - clock.now() / 1000,
          reserved: reserved.map(({ ruleId, dimension, ...rest }) => {
            return { rule_id: ruleId, dimension: dimension === Dimension.DIMENSION_USER ? "user" : "ip", ...rest };
          }),
          remaining: decision?.limits.map(({ remaining }) => remaining) ?? [],
        };
      },
      extend: (reservationId, forMs, isStranger) =>
        wordOf(call(client, client.extend, { reservationId, forMs }, keyOf(isStranger))),
      settle: (reservationId, costs, isStranger) =>
        wordOf(call(client, client.settle, { reservationId, costs }, keyOf(isStranger))),
      release: (reservationId, isStranger) =>
        wordOf(call(client, client.release, { reservationId }, keyOf(isStranger))),
    };
  },
};

const WORDS_OF_REST: Readonly<Record<string, Word>> = {
  quota_exceeded: "denied",
  validation_failed: "invalid",
  reservation_not_found: "unknown",
  reservation_settled: "settled",
  reservation_lost: "lost",
};

const WORDS_OF_GRPC: Readonly<Record<number, Word>> = {
  [status.INVALID_ARGUMENT]: "invalid",
  [status.NOT_FOUND]: "unknown",
  [status.FAILED_PRECONDITION]: "settled",
  [status.ABORTED]: "lost",
};
