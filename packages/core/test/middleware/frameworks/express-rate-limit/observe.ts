import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import * as theirs from "express-rate-limit";
import { vi } from "vitest";
import type { Clock } from "../../../../src/index.ts";
import * as ours from "../../../../src/middleware/express-rate-limit.ts";
import { closeServer } from "../framework.ts";

/** What both packages understand. */
export type Given = Partial<Omit<ours.Options, "name" | "store" | "handler">> & {
  readonly store?: ours.Store | ours.LegacyStore;
  readonly handler?: (
    request: express.Request,
    response: express.Response,
    next: express.NextFunction,
    options: { readonly statusCode: number; readonly windowMs: number; readonly message: unknown },
  ) => unknown;
};

export type RateLimit = (given?: Given) => ours.RateLimitRequestHandler;

/** What a client saw of one response. */
interface Shot {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const START = Date.UTC(2026, 0, 1);

/** The clock of express-rate-limit, which tests can set. */
export const dateClock: Clock = {
  now: () => Date.now() * 1000,
  sleep: () => Promise.reject(new Error("nobody sleeps here")),
};

export const silent: ours.Logger = { error() {}, warn() {} };

export const original: RateLimit = (given) => theirs.rateLimit({ logger: silent, ...given } as Partial<theirs.Options>);

function memory(): ours.MemoryStore {
  return new ours.MemoryStore({ clock: dateClock });
}

/** The implementations that must behave as express-rate-limit does. */
export const implementations: Readonly<Record<string, RateLimit>> = {
  "headgate/express-rate-limit": (given) => ours.rateLimit({ logger: silent, store: memory(), ...given }),
  "headgate/express-rate-limit over a store of express-rate-limit's": (given) =>
    ours.rateLimit({ logger: silent, store: new theirs.MemoryStore(), ...given }),
  "express-rate-limit over a HeadgateStore": (given) => original({ store: new ours.HeadgateStore(memory()), ...given }),
};

/** A server under test. */
export interface Site {
  readonly app: Express;
  readonly rateLimit: RateLimit;
  /** Sends a request and notes what came back. */
  get(path?: string, headers?: Record<string, string>): Promise<void>;
  /** Notes something else. */
  note(seen: unknown): void;
  /** Lets time pass. */
  pass(ms: number): void;
  /** Waits until all that belongs to the responses so far is done. */
  quiet(): Promise<void>;
  /** Sends a request and hangs up as soon as the server has it. */
  leave(path: string): Promise<void>;
}

export type Behaviour = (site: Site) => Promise<void>;

/**
 * What can be seen of a behaviour, by the package itself or by one of ours. `reached` waits until what was sent to
 * the store has got there.
 */
export async function observe(
  behaviour: Behaviour,
  rateLimit: RateLimit = original,
  reached: () => Promise<unknown> = setImmediate,
): Promise<readonly unknown[]> {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  const app = express();
  let open = 0;
  let arrived = (): void => {};
  app.use((_request, response, next) => {
    open += 1;
    response.once("close", () => {
      open -= 1;
    });
    arrived();
    next();
  });
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const seen: unknown[] = [];
  const quiet = async (): Promise<void> => {
    while (open > 0) await setImmediate();
    for (let i = 0; i < 5; i += 1) await reached();
  };
  try {
    await behaviour({
      app,
      rateLimit,
      // Their store goes on with what it told.
      note: (value) => seen.push(structuredClone(value)),
      pass: (ms) => vi.setSystemTime(Date.now() + ms),
      quiet,
      async get(path = "/", headers = {}) {
        seen.push(await shot(await fetch(url + path, { headers })));
      },
      async leave(path) {
        const there = new Promise<void>((resolve) => {
          arrived = resolve;
        });
        const controller = new AbortController();
        const gone = fetch(url + path, { signal: controller.signal }).catch(() => {});
        await there;
        controller.abort();
        await gone;
        await quiet();
      },
    });
    return seen;
  } finally {
    vi.useRealTimers();
    await closeServer(server);
  }
}

async function shot(response: Response): Promise<Shot> {
  const told = [...response.headers].filter(([name]) => /ratelimit|retry-after|content-type/.test(name));
  return { status: response.status, headers: Object.fromEntries(told), body: await response.text() };
}

export function statuses(seen: readonly unknown[]): number[] {
  return seen.flatMap((each) =>
    typeof each === "object" && each !== null && "status" in each ? [each.status as number] : [],
  );
}

export const ok: RequestHandler = (_request, response) => {
  response.send("ok");
};

/** Answers what an error says. */
export const sayError: ErrorRequestHandler = (error, _request, response, _next) => {
  response.status(500).send(`failed: ${error.message}`);
};
