import { type Answer, type Limit, limitFromJson, type MemoryStore, type Operation, type Rule } from "headgate";
import { type Frame, FrameWriter } from "./worker-frames.ts";
import {
  ANSWERS,
  type ApplyMessage,
  actionOf,
  FAILED,
  monotonicAhead,
  OTHER,
  type RequestMessage,
  type WireError,
  wireErrorOf,
  writeAnswers,
} from "./worker-wire.ts";

type CountingStore = Pick<MemoryStore, "apply" | "clock">;

/** A rule that was sent, and the limit of calls under it. */
type Sent = readonly [Rule, Limit | undefined];

/** The calls that another worker makes over one connection, for keys that this worker owns. */
export class ReceivedCalls {
  readonly #store: () => CountingStore | undefined;
  readonly #ask: (what: "metrics" | "refresh", call: number) => void;
  /** By their numbers. */
  #rules: Sent[] = [];
  readonly #replies = new FrameWriter<WireError>();

  /** `store`: undefined until this worker counts. `ask` is called for what takes longer, and is answered separately. */
  constructor(store: () => CountingStore | undefined, ask: (what: "metrics" | "refresh", call: number) => void) {
    this.#store = store;
    this.#ask = ask;
  }

  /** Carries out the calls of a frame, and returns the frame that answers them. */
  answered({ numbers, text, others }: Frame<RequestMessage>): Buffer {
    const store = this.#store();
    // What is to be added to deadlines of the sender.
    const shift = store === undefined ? 0 : numbers[0] - monotonicAhead(store.clock);
    this.#replies.number(ANSWERS);
    let [other, keyAt] = [0, 0];
    for (let at = 1; at < numbers.length; ) {
      const kind = numbers[at];
      if (kind === OTHER) {
        this.#handle(others[other], store, shift);
        other += 1;
        at += 1;
        continue;
      }
      const [keyEnd, count] = [keyAt + numbers[at + 1], numbers[at + 3]];
      this.#answer(store, (store) => this.#plain(store, numbers, at, text.slice(keyAt, keyEnd), shift));
      keyAt = keyEnd;
      at += 4 + 2 * count;
    }
    return this.#replies.take();
  }

  #plain(store: CountingStore, numbers: Float64Array, at: number, key: string, shift: number): readonly Answer[] {
    const count = numbers[at + 3];
    const operations = new Array<Operation>(count);
    for (let i = 0; i < count; i += 1) {
      const [rule, limit] = this.#ruleOf(numbers[at + 4 + 2 * i]);
      const cost = numbers[at + 5 + 2 * i];
      operations[i] = limit === undefined ? { rule, key, cost } : { rule, key, cost, limit };
    }
    const voidFrom = numbers[at + 2] + shift;
    // A store decides faster without options.
    return store.clock.now() < voidFrom
      ? store.apply(actionOf(numbers[at]), operations)
      : store.apply(actionOf(numbers[at]), operations, { voidFrom });
  }

  #handle(message: RequestMessage, store: CountingStore | undefined, shift: number): void {
    switch (message[0]) {
      case "apply":
        this.#answer(store, (store) => this.#withOptions(store, message, shift));
        break;
      case "define": {
        const [, id, rule, limit] = message;
        this.#rules[id] = [{ ...rule, limit: revived(rule.limit) }, limit === null ? undefined : revived(limit)];
        break;
      }
      case "forget":
        this.#rules = [];
        break;
      default:
        this.#ask(message[0], message[1]);
    }
  }

  #withOptions(
    store: CountingStore,
    [, action, key, list, options, holders]: ApplyMessage,
    shift: number,
  ): readonly Answer[] {
    const operations: Operation[] = [];
    for (let i = 0; i < list.length; i += 2) {
      const [rule, limit] = this.#ruleOf(list[i]);
      const slot = holders?.[i / 2] ?? null;
      operations.push({ rule, key, cost: list[i + 1], ...(limit && { limit }), ...(slot !== null && { slot }) });
    }
    if (options?.voidFrom === undefined) return store.apply(action, operations, options ?? undefined);
    return store.apply(action, operations, { ...options, voidFrom: options.voidFrom + shift });
  }

  #answer(store: CountingStore | undefined, apply: (store: CountingStore) => readonly Answer[]): void {
    try {
      if (store === undefined) throw new Error("this worker does not count yet");
      writeAnswers(apply(store), this.#replies);
    } catch (error) {
      this.#replies.number(FAILED);
      this.#replies.other(wireErrorOf(error));
    }
  }

  #ruleOf(id: number): Sent {
    const sent = this.#rules.at(id);
    if (sent === undefined) throw new Error(`rule ${id} was not sent`);
    return sent;
  }
}

/** A limit that was sent as JSON. */
function revived(limit: Limit): Limit {
  return limitFromJson(limit) ?? limit;
}
