import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { afterEach } from "vitest";
import { type Limiter, rateLimiter } from "../../../../src/index.ts";
import type { Passed } from "../../../../src/middleware/admission.ts";
import type { RulesOrOptions } from "../../../../src/middleware/middleware-options.ts";
import type { Notice } from "../../../../src/middleware/notices.ts";
import { ManualClock, testLimiter } from "../../../../src/testing/index.ts";
import { SlowStore } from "../../../limiter/slow-store.ts";
import { type Framework, type Name, type Reply, type Route, type Routes, type Running, rules } from "../framework.ts";

/** A server of the framework that is being tried. */
export interface Site {
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Sends a request and hangs up on demand; resolves when the server has noticed. */
  fetchAndLeave(path: string): { leave(): Promise<void> };
}

/** Where clients come from in the tests. */
export const KEY = "ip:127.0.0.1";

/** The type of a problem; some frameworks add its encoding. */
export const PROBLEM = /^application\/problem\+json(; charset=utf-8)?$/;

const running: Running[] = [];

/** To be called in a `describe`: servers are closed after each of its tests. */
export function closesSites(): void {
  afterEach(async () => {
    await Promise.all(running.splice(0).map((each) => each.close()));
  });
}

export async function siteOf<Request>(
  framework: Framework<Request>,
  routes: Routes<Request>,
  host = "127.0.0.1",
): Promise<Site> {
  const started = await framework.listen(routes, host);
  running.push(started);
  const sockets = new Set<Socket>();
  started.server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const { port } = started.server.address() as AddressInfo;
  // A mapped address is reached by the IPv4 one that it means.
  const name = host.replace("::ffff:", "");
  const url = (path: string) => `http://${name.includes(":") ? `[${name}]` : name}:${port}${path}`;
  return {
    fetch: (path, init) => fetch(url(path), init),
    fetchAndLeave(path) {
      const controller = new AbortController();
      const answered = fetch(url(path), { signal: controller.signal });
      return {
        async leave() {
          // Others are idle, and stay.
          const closed = Promise.race([...sockets].map((socket) => once(socket, "close")));
          controller.abort();
          await answered.then((response) => response.body?.cancel()).catch(() => {});
          await closed;
        },
      };
    },
  };
}

/** A route with one gate, whose handler says ok. */
export function route<Request>(
  limiter: Limiter<typeof rules>,
  asked: RulesOrOptions<Name, Request>,
  handle: (passed: Passed | undefined) => Reply | Promise<Reply> = () => ({ status: 200, body: "ok" }),
): Route<Request> {
  return { gates: [{ limiter, asked }], handle };
}

/** A limiter in memory, with its time in hand. */
export function inMemory() {
  return testLimiter(rules, { startMs: 60_000_000 });
}

/** A limiter over a store whose answers take some time. */
export function farAway(travelMs = 0) {
  const clock = new ManualClock(60_000_000);
  const store = new SlowStore(clock, travelMs);
  return { limiter: rateLimiter(rules, { store, clock }), store, clock };
}

/** Collects what is warned of. */
export function hearing() {
  const notices: Notice[] = [];
  return { notices, onNotice: (notice: Notice): void => void notices.push(notice) };
}

export function rateLimitHeaders({ headers }: Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => /^(x-)?ratelimit|^retry-after$|^headgate-/.test(name)));
}
