import type { ServerResponse } from "node:http";
import type { Passed } from "../../../../src/middleware/admission.ts";

/** How a handler settles what it streams. */
export const patterns = ["after a loop", "in finally", "in flush", "with each chunk"] as const;

export type Pattern = (typeof patterns)[number];

/** What a streaming handler works with. */
export interface Job {
  readonly upstream: string;
  readonly pattern: Pattern;
  readonly admission: Passed | undefined;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
}

/** The answer of the upstream, each byte of which costs one. Leaves as soon as the client has left. */
export async function answer({ upstream, pattern, admission, signal }: Job): Promise<ReadableStream<Uint8Array>> {
  const { body } = await fetch(upstream, { signal });
  if (body === null) throw new Error("the upstream has no body");
  let used = 0;
  if (pattern === "in flush") {
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        used += chunk.length;
        controller.enqueue(chunk);
      },
      flush: () => admission?.settle(used),
    });
    return body.pipeThrough(counter);
  }
  async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of chunks) {
        used += chunk.length;
        if (pattern === "with each chunk") await admission?.settle(used);
        yield chunk;
      }
      if (pattern === "after a loop") await admission?.settle(used);
    } finally {
      if (pattern === "in finally") await admission?.settle(used);
    }
  }
  return ReadableStream.from(counted(body)) as ReadableStream<Uint8Array>;
}

/** A signal for handlers that get none from their framework. */
export function signalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once("close", () => controller.abort());
  return controller.signal;
}
