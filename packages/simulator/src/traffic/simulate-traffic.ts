import type { Answer } from "headgate";
import { Replay, type ReplayOptions } from "../replay/replay.ts";
import type { ClientReport, ReplayReport } from "../replay/replay-report.ts";
import type { RulesFor } from "../replay/traffic-request.ts";
import { EventQueue } from "./event-queue.ts";
import { type ModelRequest, modelRequests, randomOf } from "./model-requests.ts";
import type { Random } from "./random.ts";
import type { Retries, TrafficModel } from "./traffic-model.ts";

export interface SimulationOptions extends Pick<ReplayOptions, "top" | "onReplayed"> {
  /** Called with the share of the time that has passed, from 0 to 1. */
  readonly onProgress?: (share: number, requests: number) => void;
}

/** How often progress is reported, in requests. */
const PROGRESS_EVERY = 1 << 14;

/** Decides the traffic of a model. Clients that are denied may try again, which no log can show. */
export function simulateTraffic(
  model: TrafficModel,
  rulesFor: RulesFor,
  { top, onReplayed, onProgress }: SimulationOptions = {},
): ReplayReport {
  const clients = model.sources.map(
    ({ name, retries }, i) => new Clients(name, retries, randomOf(model.seed, 2 * i + 1)),
  );
  const retrying = new EventQueue<Attempt>();
  let decided: { readonly allowed: boolean; readonly answers: readonly Answer[] } | undefined;
  // Without lateness, each request is decided when it is added.
  const replay = new Replay(rulesFor, {
    top,
    onReplayed: (time, key, allowed, answers) => {
      decided = { allowed, answers };
      onReplayed?.(time, key, allowed, answers);
    },
  });
  const end = model.start + model.durationMs * 1000;
  let requests = 0;
  const attempt = (attempt: Attempt): void => {
    replay.add(attempt);
    if (decided === undefined) throw new Error("a request was not decided at its time");
    const next = clients[attempt.source].answered(attempt, decided.allowed, decided.answers, end);
    if (next !== undefined) retrying.add(next.time, next);
    requests += 1;
    if (requests % PROGRESS_EVERY === 0) onProgress?.((attempt.time - model.start) / (end - model.start), requests);
  };
  const retryUntil = (time: number): void => {
    while (retrying.nextAt < time) {
      const next = retrying.take();
      if (next !== undefined) attempt(next);
    }
  };
  for (const request of modelRequests(model)) {
    retryUntil(request.time);
    attempt({ ...request, first: request.time, attempt: 1 });
  }
  retryUntil(end);
  return { ...replay.finish(), clients: clients.map((each) => each.report()) };
}

interface Attempt extends ModelRequest {
  /** When the first attempt was made. */
  readonly first: number;
  /** 1 for the first. */
  readonly attempt: number;
}

/** The clients of one source: what they do when they are denied, and what becomes of their requests. */
class Clients {
  readonly #name: string;
  readonly #retries: Retries | undefined;
  readonly #random: Random;
  #requests = 0;
  #attempts = 0;
  #admittedAtOnce = 0;
  #admittedLater = 0;
  #gaveUp = 0;
  #unfinished = 0;
  #waited = 0;
  #longestWait = 0;

  constructor(name: string, retries: Retries | undefined, random: Random) {
    this.#name = name;
    this.#retries = retries;
    this.#random = random;
  }

  /** The next attempt, if the client makes one before `end`. */
  answered(attempt: Attempt, allowed: boolean, answers: readonly Answer[], end: number): Attempt | undefined {
    this.#attempts += 1;
    if (attempt.attempt === 1) this.#requests += 1;
    if (allowed) {
      this.#admit(attempt);
      return undefined;
    }
    const retries = this.#retries;
    const delay = retries === undefined ? Number.POSITIVE_INFINITY : this.#delay(retries, attempt.attempt, answers);
    if (retries === undefined || attempt.attempt > retries.attempts || delay === Number.POSITIVE_INFINITY) {
      this.#gaveUp += 1;
      return undefined;
    }
    const time = attempt.time + Math.max(1, Math.ceil(delay));
    if (time < end) return { ...attempt, time, attempt: attempt.attempt + 1 };
    this.#unfinished += 1;
    return undefined;
  }

  report(): ClientReport {
    return {
      source: this.#name,
      requests: this.#requests,
      attempts: this.#attempts,
      admittedAtOnce: this.#admittedAtOnce,
      admittedLater: this.#admittedLater,
      gaveUp: this.#gaveUp,
      unfinished: this.#unfinished,
      averageWait: this.#admittedLater === 0 ? 0 : this.#waited / this.#admittedLater,
      longestWait: this.#longestWait,
    };
  }

  #admit({ attempt, time, first }: Attempt): void {
    if (attempt === 1) {
      this.#admittedAtOnce += 1;
      return;
    }
    this.#admittedLater += 1;
    this.#waited += time - first;
    if (time - first > this.#longestWait) this.#longestWait = time - first;
  }

  /** In microseconds. */
  #delay(
    { strategy, delayMs, factor, longestMs, jitter }: Retries,
    attempt: number,
    answers: readonly Answer[],
  ): number {
    const random = jitter === 0 ? 1 : 1 - jitter * this.#random.next();
    if (strategy === "retry_after") {
      // A denial reports the longest wait of the limits that deny. Jitter is added: an earlier retry would be useless.
      const told = answers.reduce((longest, { retryAfter }) => Math.max(longest, retryAfter), 0);
      return told + delayMs * 1000 * (jitter === 0 ? 1 : 2 - random);
    }
    if (strategy === "at_once") return delayMs * 1000 * random;
    let delay = delayMs;
    for (let i = 1; i < attempt && delay < longestMs; i += 1) delay *= factor;
    return Math.min(delay, longestMs) * 1000 * random;
  }
}
