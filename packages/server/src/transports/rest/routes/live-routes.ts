import type { ServerResponse } from "node:http";
import type { FastifyRequest } from "fastify";
import { z } from "zod";

import type { App } from "../app.ts";
import { keyOwner } from "../authorize.ts";
import { Problem } from "../problem.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { problems } from "../schemas/problem-schemas.ts";
import { sessionTokenIn } from "../session-cookie.ts";

/** As often as nodes write their figures. */
const EVERY_MS = 2_000;

const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  // Without it, nginx would collect events before it passes them on.
  "x-accel-buffering": "no",
};

const liveQuery = z.strictObject({
  once: z.enum(["true", "false"]).default("false").describe("Whether to end after the first picture"),
});

/** What all nodes do at present, as server-sent events. */
export function liveRoutes(app: App, { keyRing, livePicture: read }: RestParts): void {
  const streams = new Set<Stream>();
  let timer: NodeJS.Timeout | undefined;

  // One reading serves all streams of this process.
  const tell = async (to: Iterable<Stream>): Promise<void> => {
    const text = `event: picture\ndata: ${JSON.stringify(await read())}\n\n`;
    for (const stream of to) stream.send(text);
  };
  const leave = (stream: Stream): void => {
    streams.delete(stream);
    if (streams.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const mayStillRead = (request: FastifyRequest): boolean => {
    const { authorization } = request.headers;
    if (authorization !== undefined) return !(keyOwner({ keyRing }, authorization, request.ip) instanceof Problem);
    const token = sessionTokenIn(request);
    return token !== undefined && keyRing.session(token) !== undefined;
  };

  app.addHook("preClose", async () => {
    for (const stream of streams) stream.end();
  });

  app.get(
    "/live",
    {
      schema: {
        tags: ["history"],
        summary: "Stream the activity of all nodes as server-sent events: one `picture` every two seconds",
        querystring: liveQuery,
        response: {
          200: {
            description: "A stream of events named picture",
            content: { "text/event-stream": { schema: z.string() } },
          },
          ...problems(),
        },
      },
    },
    async (request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200, { ...headersOf(reply.getHeaders()), ...HEADERS });
      const stream = new Stream(reply.raw, () => mayStillRead(request));
      streams.add(stream);
      reply.raw.on("close", () => leave(stream));
      timer ??= setInterval(() => void tell([...streams]), EVERY_MS).unref();
      await tell([stream]);
      if (request.query.once === "true") stream.end();
    },
  );
}

function headersOf(headers: Readonly<Record<string, string | number | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

class Stream {
  readonly #response: ServerResponse;
  readonly #mayRead: () => boolean;

  constructor(response: ServerResponse, mayRead: () => boolean) {
    this.#response = response;
    this.#mayRead = mayRead;
  }

  /** Ends the stream instead if its key was revoked, or its session has expired. Skips clients that do not keep up. */
  send(text: string): void {
    if (!this.#mayRead()) this.end();
    else if (!this.#response.writableNeedDrain) this.#response.write(text);
  }

  end(): void {
    this.#response.end();
  }
}
