import { once } from "node:events";
import type { Server } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream as NodeReadableStream } from "node:stream/web";
import type { Limiter } from "../../../../src/index.ts";
import { closeServer, type Running, type rules } from "../framework.ts";
import type { Pattern } from "./answers.ts";

/** What is served: at `/stream` the answer of the upstream, at `/next` an empty response. */
export interface Served {
  readonly limiter: Limiter<typeof rules>;
  readonly upstream: string;
  readonly pattern: Pattern;
}

/** A server that streams, written as users of the framework would. */
export interface StreamingServer {
  readonly name: string;
  /** Whether the headers are sent as soon as the upstream has answered; otherwise with the first byte. */
  readonly flushesHeaders: boolean;
  listen(served: Served): Promise<Running>;
}

/** How much is reserved for a stream, of 10. */
export const RESERVED = 6;
export const streamed = { rules: { rule: "day", reserve: RESERVED } } as const;
export const next = "day";

export async function listening(server: Server): Promise<Running> {
  if (!server.listening) {
    if (server.address() === null) server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  return { server, close: () => closeServer(server) };
}

export function nodeStream(chunks: ReadableStream<Uint8Array>): Readable {
  return Readable.fromWeb(chunks as NodeReadableStream<Uint8Array>);
}
