import { createHmac } from "node:crypto";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  type Decision,
  type Limit,
  type Operation,
  type Store,
  StoreError,
} from "headgate";
import { StoreWrapper } from "headgate/store";
import type { CheckRequest, CheckResult } from "../checks/check.ts";
import { keyOf } from "../checks/check-request.ts";
import type { AppliedLimit } from "../rules/shared-counter.ts";
import { RECORDING_VERSION, type RecordingEntry } from "./recording-entry.ts";

export interface RecorderOptions {
  /** The process that records. */
  readonly node: string;
  /** Records one in this many identities, with all of their requests. */
  readonly oneIn: number;
  /** Identifiers are hashed with it. Nodes with the same secret record the same identities, under the same names. */
  readonly secret: string;
  readonly add: (entry: RecordingEntry) => void;
  /** The time in microseconds. */
  readonly now: () => number;
}

/** As long as 96 bits are in base64. */
const HASH_LENGTH = 16;

/** Records what the store does for some identities, so that its decisions can be reproduced. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #limits = new Map<string, number>();
  #calls = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
    const { node, oneIn, now } = options;
    options.add({ type: "header", version: RECORDING_VERSION, node, oneIn, time: now() });
  }

  /** The store, with its calls recorded. */
  recorded(store: Store): Store {
    return new RecordedStore(store, this);
  }

  /** Records the decisions of a check that the calls of the store do not show. */
  decided(request: CheckRequest, { verdict, shadow, plan }: CheckResult): void {
    const { enforced, keys } = plan;
    this.#decisions(request, verdict?.decisions ?? [], enforced, keys?.enforced);
    this.#decisions(request, shadow, plan.shadow, keys?.shadow);
  }

  #decisions(
    request: CheckRequest,
    decisions: readonly Decision[],
    limits: readonly AppliedLimit[],
    keys: readonly string[] | undefined,
  ): void {
    for (const [i, { source, rule, allowed, timeMs }] of decisions.entries()) {
      const { config, isCandidate } = limits[i];
      if (source === "store" && config.consistency === "strict") continue;
      const key = this.nameOf(keys?.[i] ?? keyOf(request));
      if (key === undefined) continue;
      this.#options.add({
        type: "other",
        time: Math.round(timeMs * 1000),
        key,
        rule,
        source,
        allowed,
        cost: request.cost,
        ...(isCandidate && { isCandidate }),
      });
    }
  }

  /** The hash of a key; undefined if the key is not recorded. */
  nameOf(key: string): string | undefined {
    const hash = createHmac("sha256", this.#options.secret).update(key).digest();
    return hash.readUInt32BE(28) % this.#options.oneIn === 0
      ? hash.toString("base64url").slice(0, HASH_LENGTH)
      : undefined;
  }

  /** Takes the place of a call in the order of calls. */
  begin(): number {
    this.#calls += 1;
    return this.#calls;
  }

  /** Records what a call did for one of its keys. */
  call(
    number: number,
    key: { readonly name: string; readonly first: string },
    action: Action,
    operations: readonly Operation[],
    answers: readonly Answer[],
    options: ApplyOptions | undefined,
    deniedElsewhere: boolean,
  ): void {
    const { idempotencyKey, context, rememberFor } = options ?? {};
    this.#options.add({
      type: "call",
      number,
      time: answers[0].time,
      action,
      key: key.name,
      operations: operations.map((operation) => ({ limit: this.#limitOf(operation), cost: operation.cost })),
      answers: answers.map(({ allowed, remaining, retryAfter, resetAfter }) => {
        return { allowed, remaining, retryAfter: Number.isFinite(retryAfter) ? retryAfter : null, resetAfter };
      }),
      ...(deniedElsewhere && { deniedElsewhere }),
      ...(idempotencyKey !== undefined && {
        idempotency: {
          // Idempotency keys are separate for each key of the first operation.
          key: this.#hashed(JSON.stringify([key.first, idempotencyKey, context ?? null])),
          ...(rememberFor !== undefined && { rememberFor }),
        },
      }),
    });
  }

  failed(key: string, error: unknown): void {
    const code = error instanceof StoreError ? error.code : "unknown";
    this.#options.add({ type: "failure", time: this.#options.now(), key, code });
  }

  /** The number of a limit, which is written when it is first used. */
  #limitOf({ rule, limit = rule.limit }: Operation): number {
    const counter = rule.counter ?? rule.name;
    const text = JSON.stringify([rule.name, counter, limit satisfies Limit]);
    const known = this.#limits.get(text);
    if (known !== undefined) return known;
    const number = this.#limits.size;
    this.#limits.set(text, number);
    this.#options.add({ type: "limit", number, rule: rule.name, counter, limit });
    return number;
  }

  #hashed(text: string): string {
    return createHmac("sha256", this.#options.secret).update(text).digest("base64url").slice(0, HASH_LENGTH);
  }
}

class RecordedStore extends StoreWrapper {
  readonly #recorder: Recorder;

  constructor(store: Store, recorder: Recorder) {
    super(store);
    this.#recorder = recorder;
  }

  override apply(
    action: Action,
    operations: readonly Operation[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]> {
    const answers = this.store.apply(action, operations, options);
    const keys = new Map<string, string>();
    for (const { key, slot } of operations) {
      const name = slot === undefined && !keys.has(key) ? this.#recorder.nameOf(key) : undefined;
      if (name !== undefined) keys.set(key, name);
    }
    if (keys.size === 0) return answers;
    const number = this.#recorder.begin();
    const note = (answers: readonly Answer[]): readonly Answer[] => {
      for (const [key, name] of keys) {
        const isOwn = (_: unknown, i: number): boolean => operations[i].key === key;
        const own = answers.filter(isOwn);
        const elsewhere =
          action === "take" && own.every(({ allowed }) => allowed) && !answers.every(({ allowed }) => allowed);
        this.#recorder.call(
          number,
          { name, first: operations[0].key },
          action,
          operations.filter(isOwn),
          own,
          options,
          elsewhere,
        );
      }
      return answers;
    };
    if (!("then" in answers)) return note(answers);
    return answers.then(note, (error) => {
      for (const name of keys.values()) this.#recorder.failed(name, error);
      throw error;
    });
  }
}
