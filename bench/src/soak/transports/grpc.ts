import { readFileSync } from "node:fs";
import { create, createFileRegistry, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Client, type ClientDuplexStream, credentials, Metadata } from "@grpc/grpc-js";
import { root } from "headgate-testkit/repository";
import type { NodeProcess } from "headgate-testkit/service-process";
import { METHODS, sameBytes } from "../../service/grpc-requests.ts";
import type { SoakCheck, SoakDecision, SoakTransport } from "../transports.ts";

/** Longer than any call should take: how long they take is checked elsewhere. */
const DEADLINE_MS = 120_000;
const DIMENSION_USER = 1;
/** By default, a client waits ever longer, and its calls fail meanwhile. */
export const RECONNECTING = { "grpc.initial_reconnect_backoff_ms": 100, "grpc.max_reconnect_backoff_ms": 1_000 };

const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(`${root}/packages/server/proto/headgate/v1/rate_limiter.binpb`)),
);

export const grpc: SoakTransport = {
  name: "grpc",
  connect(node) {
    const { client, metadata } = connected(node);
    return {
      check: (check) =>
        new Promise((resolve, reject) => {
          const options = { deadline: Date.now() + DEADLINE_MS };
          const bytes = encoded("CheckRateLimitRequest", fieldsOf(check));
          client.makeUnaryRequest<Buffer, Buffer>(
            METHODS.unary,
            sameBytes,
            sameBytes,
            bytes,
            metadata,
            options,
            (error, reply) => {
              if (error !== null || reply === undefined) reject(error);
              else resolve(decisionOf(decoded("CheckRateLimitResponse", reply)));
            },
          );
        }),
      close: () => client.close(),
    };
  },
};

export const grpcStream: SoakTransport = {
  name: "grpc-stream",
  connect(node) {
    const { client, metadata } = connected(node);
    const waiting = new Map<string, { resolve(decision: SoakDecision): void; reject(error: unknown): void }>();
    let stream: ClientDuplexStream<Buffer, Buffer> | undefined;
    let calls = 0;

    /** A stream that ended takes its calls along. The next call opens another. */
    const open = (): ClientDuplexStream<Buffer, Buffer> => {
      const opened = client.makeBidiStreamRequest<Buffer, Buffer>(METHODS.stream, sameBytes, sameBytes, metadata);
      const end = (error: unknown): void => {
        if (stream !== opened) return;
        stream = undefined;
        for (const call of waiting.values()) call.reject(error);
        waiting.clear();
      };
      opened.on("error", end);
      opened.on("end", () => end(new Error("the stream ended")));
      opened.on("data", (bytes: Buffer) => {
        const { correlationId, responses } = decoded("CheckRateLimitStreamResponse", bytes);
        const call = waiting.get(String(correlationId));
        waiting.delete(String(correlationId));
        const [response] = Array.isArray(responses) ? responses : [];
        if (response === undefined) call?.reject(new Error("an empty answer"));
        else call?.resolve(decisionOf(response));
      });
      return opened;
    };

    return {
      check: (check) =>
        new Promise((resolve, reject) => {
          calls += 1;
          const correlationId = String(calls);
          waiting.set(correlationId, { resolve, reject });
          const checks = [create(message("CheckRateLimitRequest"), fieldsOf(check))];
          stream ??= open();
          stream.write(encoded("CheckRateLimitStreamRequest", { correlationId, checks }));
        }),
      close() {
        stream?.cancel();
        client.close();
      },
    };
  },
};

function connected(node: NodeProcess): { client: Client; metadata: Metadata } {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${node.key}`);
  return { client: new Client(node.grpcAddress, credentials.createInsecure(), RECONNECTING), metadata };
}

function fieldsOf({ identifier, endpoint, cost, idempotencyKey = "" }: SoakCheck): Record<string, unknown> {
  return { identifier, dimension: DIMENSION_USER, endpoint, cost: BigInt(cost), idempotencyKey };
}

function decisionOf(reply: Readonly<Record<string, unknown>>): SoakDecision {
  const { allowed, remaining, resetAtMs, degraded } = reply;
  return {
    allowed: allowed === true,
    remaining: Number(remaining),
    resetAtMs: Number(resetAtMs),
    degraded: degraded === true,
  };
}

function message(name: string): DescMessage {
  const found = registry.getMessage(`headgate.v1.${name}`);
  if (found === undefined) throw new Error(`the proto file has no message ${name}`);
  return found;
}

function encoded(name: string, fields: Record<string, unknown>): Buffer {
  return Buffer.from(toBinary(message(name), create(message(name), fields)));
}

function decoded(name: string, bytes: Buffer): Readonly<Record<string, unknown>> {
  return fromBinary(message(name), bytes);
}
