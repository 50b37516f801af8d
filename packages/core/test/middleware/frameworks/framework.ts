import type { Server } from "node:http";
import { fixedWindow, type Limiter, tokenBucket } from "../../../src/index.ts";
import type { AddressOptions } from "../../../src/middleware/address/client-address.ts";
import type { Denied, Passed } from "../../../src/middleware/admission.ts";
import type { RulesOrOptions } from "../../../src/middleware/middleware-options.ts";
import type { StreamingServer } from "./streams/streaming-server.ts";

export const rules = { api: fixedWindow("2/m"), day: tokenBucket("10/d") };

export type Name = keyof typeof rules;

/** What a handler answers, in the words of no framework. */
export interface Reply {
  readonly status: number;
  readonly body: string;
}

/** What `rateLimit` is called with. */
export interface TestGate<Request> {
  readonly limiter: Limiter<typeof rules>;
  readonly asked: RulesOrOptions<Name, Request>;
  /** To be made an `onDenied` that answers this in the framework's way. */
  readonly onDenied?: (refused: Denied) => Reply;
}

export interface Route<Request> {
  /** Before the handler, in this order. */
  readonly gates: readonly TestGate<Request>[];
  /** Gets the admission from where the framework's handlers find it. What it throws goes to the framework. */
  readonly handle: (passed: Passed | undefined) => Reply | Promise<Reply>;
}

/** Routes of the method GET by their paths, such as `/items`. */
export type Routes<Request> = Readonly<Record<string, Route<Request>>>;

export interface Running {
  readonly server: Server;
  close(): Promise<void>;
}

/** A framework, as the suite needs it. `Request` is what it gives to functions such as `by`. */
export interface Framework<Request> {
  readonly name: string;
  /** Whether it has a place for users. If so, `{ id }` is there before the gates, as the header `x-user` says. */
  readonly hasUsers: boolean;
  header(request: Request, name: string): string | undefined;
  /** The function of this name that the entry point exports. */
  clientAddress(request: Request, options?: AddressOptions): string | undefined;
  /** Starts a server on a free port of the host. Silent, whatever its handlers throw. */
  listen(routes: Routes<Request>, host: string): Promise<Running>;
  /** Its ways to stream a response. */
  readonly streams: readonly StreamingServer[];
}

/** Closes a server of Node's, and what clients keep open. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => {
    server.close(resolve);
  });
  server.closeAllConnections();
  await closed;
}
