import { flagColumn } from "./key-columns.ts";
import { KeyIndex } from "./key-index.ts";
import type { ReplayChanges, ReplayReport } from "./replay-report.ts";
import { type Release, RequestOrder } from "./request-order.ts";
import { type OnReplayed, RuleSetReplay } from "./rule-set-replay.ts";
import type { RulesFor, TrafficRequest } from "./traffic-request.ts";

export interface ReplayOptions {
  /** Other rules to decide the same traffic, for comparison. */
  readonly against?: RulesFor | undefined;
  /** Requests may be out of order by at most this, in milliseconds. Default 0. */
  readonly latenessMs?: number | undefined;
  /** How many keys to list for each rule. Default 10. */
  readonly top?: number | undefined;
  /** Called for each decided request, in order of time. */
  readonly onReplayed?: OnReplayed | undefined;
}

/**
 * Decides recorded requests as the limiter would have decided them at their times, and counts the decisions. Memory
 * grows with the number of keys, not with the number of requests.
 */
export class Replay {
  readonly #rulesFor: RulesFor;
  readonly #againstFor: RulesFor | undefined;
  readonly #top: number;
  readonly #index = new KeyIndex();
  readonly #order: RequestOrder;
  readonly #rules: RuleSetReplay;
  readonly #against: RuleSetReplay | undefined;
  readonly #newlyDenied = new ChangedDecisions();
  readonly #newlyAdmitted = new ChangedDecisions();
  #from: number | undefined;
  #to = Number.NEGATIVE_INFINITY;

  constructor(rulesFor: RulesFor, options: ReplayOptions = {}) {
    const { against, latenessMs = 0, top = 10, onReplayed } = options;
    this.#rulesFor = rulesFor;
    this.#againstFor = against;
    this.#top = top;
    this.#rules = new RuleSetReplay(this.#index, onReplayed);
    this.#against = against === undefined ? undefined : new RuleSetReplay(this.#index);
    this.#order = new RequestOrder(latenessMs * 1000, this.#decide);
  }

  /** Adds the next request. It is decided once no earlier one can follow. The object is not kept. */
  add(request: TrafficRequest): void {
    const { time, key, cost } = request;
    this.#order.add(time, this.#index.numberOf(key), cost, this.#rulesFor(request), this.#againstFor?.(request));
  }

  /** Decides the requests that are held, and reports. Nothing can be added afterwards. */
  finish(): ReplayReport {
    this.#order.flush();
    const hasRequests = this.#from !== undefined;
    const against = this.#against?.report(this.#to, this.#top);
    return {
      from: this.#from,
      to: hasRequests ? this.#to : undefined,
      keys: this.#index.size,
      late: this.#order.late,
      ...this.#rules.report(this.#to, this.#top),
      ...(against && { against, changes: this.#changes() }),
    };
  }

  readonly #decide: Release = (time, key, cost, rules, against) => {
    this.#from ??= time;
    this.#to = time;
    const allowed = this.#rules.decide(time, key, cost, rules);
    if (this.#against === undefined || against === undefined) return;
    const allowedByOther = this.#against.decide(time, key, cost, against);
    if (allowed === allowedByOther) return;
    (allowed ? this.#newlyDenied : this.#newlyAdmitted).count(key, this.#index.size);
  };

  #changes(): ReplayChanges {
    return {
      newlyDenied: this.#newlyDenied.requests,
      newlyDeniedKeys: this.#newlyDenied.keys,
      newlyAdmitted: this.#newlyAdmitted.requests,
      newlyAdmittedKeys: this.#newlyAdmitted.keys,
    };
  }
}

/** Replays requests from an iterator. */
export async function replay(
  requests: Iterable<TrafficRequest> | AsyncIterable<TrafficRequest>,
  rulesFor: RulesFor,
  options?: ReplayOptions,
): Promise<ReplayReport> {
  const run = new Replay(rulesFor, options);
  for await (const request of requests) run.add(request);
  return run.finish();
}

class ChangedDecisions {
  requests = 0;
  keys = 0;
  readonly #isKnown = flagColumn();

  count(key: number, size: number): void {
    this.requests += 1;
    const isKnown = this.#isKnown.upTo(size);
    if (isKnown[key] === 0) this.keys += 1;
    isKnown[key] = 1;
  }
}
