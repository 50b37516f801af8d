import { connect, type Socket } from "node:net";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  type Clock,
  type Limit,
  type Operation,
  type Rule,
  StoreError,
} from "headgate";
import { eachFrame, type Frame, FrameWriter } from "./worker-frames.ts";
import {
  ANSWERS,
  type ApplyMessage,
  answersAt,
  errorOf,
  FAILED,
  figuresOf,
  monotonicAhead,
  numberOf,
  OTHER,
  type ReplyMessage,
  type ReportMessage,
  type RequestMessage,
} from "./worker-wire.ts";

/** Calls that wait for a worker, at most. A frozen worker must not fill the memory of the others. */
const MOST_WAITING = 20_000;
/** When this many rules were sent, numbering starts again. */
const MOST_RULES = 100_000;

interface Waiting<Result> {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

type Answers = readonly Answer[];

/** The connection to another worker. It is opened by the first call, and again by the first call after it was lost. */
export class WorkerLink {
  readonly #path: string;
  readonly #name: string;
  /** Undefined until this worker counts. */
  readonly #clock: () => Clock | undefined;
  readonly #frame = new FrameWriter<RequestMessage>();
  /** The calls in the frame, in order. */
  #collected: Waiting<Answers>[] = [];
  /** The calls in the frame that was sent last, while it is not answered. Meanwhile, messages wait for the next one. */
  #underWay: readonly Waiting<Answers>[] | undefined;
  readonly #asked = new Map<number, Waiting<string>>();
  #asks = 0;
  #isBegun = false;
  #isFlushing = false;
  #socket: Socket | undefined;
  /** By the limit of the call, or by the rule for calls without one of their own. */
  #ids = new WeakMap<Rule, WeakMap<Limit | Rule, number>>();
  #idsByText = new Map<string, number>();

  constructor(path: string, name: string, clock: () => Clock | undefined) {
    this.#path = path;
    this.#name = name;
    this.#clock = clock;
  }

  apply(action: Action, operations: readonly Operation[], options: ApplyOptions | undefined): Promise<Answers> {
    if (this.#collected.length + (this.#underWay?.length ?? 0) >= MOST_WAITING) {
      return Promise.reject(this.#unreachable());
    }
    this.#open();
    // Not while the rules of a call are being numbered: its numbers would be of two kinds.
    if (this.#idsByText.size + operations.length > MOST_RULES) {
      this.#forgetRules();
      this.#send(["forget"]);
    }
    if (isPlain(operations, options)) this.#writePlain(action, operations, options?.voidFrom);
    else
      this.#send([
        "apply",
        action,
        operations[0].key,
        this.#listOf(operations),
        options ?? null,
        holdersOf(operations),
      ]);
    return new Promise((resolve, reject) => {
      this.#collected.push({ resolve, reject });
    });
  }

  metrics(): Promise<string> {
    return this.#ask("metrics");
  }

  /** Resolves when the worker has read rules and API keys again. */
  async refresh(): Promise<void> {
    await this.#ask("refresh");
  }

  /** Resolves when the worker can be reached; rejects with a StoreError if it cannot be. */
  connected(): Promise<void> {
    const socket = this.#open();
    if (!socket.connecting) return Promise.resolve();
    return new Promise((resolve, reject) => {
      socket.once("connect", resolve).once("close", () => reject(this.#unreachable()));
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #ask(what: "metrics" | "refresh"): Promise<string> {
    this.#open();
    this.#asks += 1;
    const call = this.#asks;
    this.#send([what, call]);
    return new Promise((resolve, reject) => {
      this.#asked.set(call, { resolve, reject });
    });
  }

  #writePlain(action: Action, operations: readonly Operation[], voidFrom = Number.POSITIVE_INFINITY): void {
    // First: a rule that was not sent yet is defined by a record before this one.
    const ids = operations.length === 1 ? undefined : this.#listOf(operations);
    const [{ rule, limit, cost, key }] = operations;
    const id = ids === undefined ? this.#idOf(rule, limit) : 0;
    this.#begin();
    const frame = this.#frame;
    frame.number(numberOf(action));
    frame.number(key.length);
    frame.number(voidFrom);
    frame.number(operations.length);
    frame.text(key);
    if (ids === undefined) {
      frame.number(id);
      frame.number(cost);
    } else for (const number of ids) frame.number(number);
  }

  #listOf(operations: readonly Operation[]): number[] {
    return operations.flatMap(({ rule, limit, cost }) => [this.#idOf(rule, limit), cost]);
  }

  #send(message: RequestMessage): void {
    this.#begin();
    this.#frame.number(OTHER);
    this.#frame.other(message);
  }

  /** Begins a frame, which is sent when this turn of the event loop ends: all calls that are made in it share the frame. */
  #begin(): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    const clock = this.#clock();
    this.#frame.number(clock === undefined ? 0 : monotonicAhead(clock));
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    // The busier the workers are, the more calls share a frame; a single one is sent at once.
    if (!this.#isBegun || this.#underWay !== undefined) return;
    this.#underWay = this.#collected;
    this.#collected = [];
    this.#isBegun = false;
    this.#socket?.write(this.#frame.take());
  }

  #open(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect(this.#path);
    this.#socket = socket;
    socket.on(
      "data",
      eachFrame<ReplyMessage>((frame) => this.#receive(frame)),
    );
    // Followed by "close".
    socket.on("error", () => {});
    socket.once("close", () => this.#lost());
    return socket;
  }

  #receive({ numbers, others }: Frame<ReplyMessage>): void {
    if (numbers[0] === ANSWERS) this.#answered(numbers, others);
    else for (const message of others) if (!("code" in message)) this.#reported(message);
  }

  #answered(numbers: Float64Array, others: readonly ReplyMessage[]): void {
    const calls = this.#underWay ?? [];
    this.#underWay = undefined;
    // Not at once: further calls may be made in this turn.
    if (this.#isBegun) this.#flushSoon();
    let at = 1;
    let failed = 0;
    for (const { resolve, reject } of calls) {
      const count = numbers[at];
      at += 1;
      if (count === FAILED) {
        const error = others[failed];
        failed += 1;
        if ("code" in error) reject(errorOf(error));
        continue;
      }
      resolve(answersAt(numbers, at, count));
      at += figuresOf(count);
    }
  }

  #reported([call, result]: ReportMessage): void {
    const asked = this.#asked.get(call);
    this.#asked.delete(call);
    if (typeof result === "string") asked?.resolve(result);
    else asked?.reject(errorOf(result));
  }

  #lost(): void {
    this.#socket = undefined;
    this.#forgetRules();
    this.#frame.clear();
    this.#isBegun = false;
    const error = this.#unreachable();
    const waiting = [...(this.#underWay ?? []), ...this.#collected, ...this.#asked.values()];
    this.#underWay = undefined;
    this.#collected = [];
    this.#asked.clear();
    for (const { reject } of waiting) reject(error);
  }

  #unreachable(): StoreError {
    return new StoreError("HG_STORE_UNREACHABLE", `${this.#name} does not answer`);
  }

  #forgetRules(): void {
    this.#ids = new WeakMap();
    this.#idsByText = new Map();
  }

  /** The number of a rule with the limit of a call. Equal rules have the same number, so that there are few. */
  #idOf(rule: Rule, limit: Limit | undefined): number {
    const known = this.#ids.get(rule)?.get(limit ?? rule);
    if (known !== undefined) return known;
    // First: a connection that is opened here knows no numbers yet.
    this.#open();
    const { name, counter, limit: ofRule } = rule;
    const sent = { name, limit: ofRule, ...(counter !== undefined && { counter }) };
    const text = JSON.stringify([sent, limit]);
    let id = this.#idsByText.get(text);
    if (id === undefined) {
      id = this.#idsByText.size;
      this.#idsByText.set(text, id);
      this.#send(["define", id, sent, limit ?? null]);
    }
    const ids = this.#ids.get(rule) ?? new WeakMap<Limit | Rule, number>();
    ids.set(limit ?? rule, id);
    this.#ids.set(rule, ids);
    return id;
  }
}

/** Whether nothing but rules, a key, costs and a deadline has to be sent. */
function isPlain(operations: readonly Operation[], options: ApplyOptions | undefined): boolean {
  if (options !== undefined) for (const name in options) if (name !== "voidFrom") return false;
  for (const { slot } of operations) if (slot !== undefined) return false;
  return true;
}

function holdersOf(operations: readonly Operation[]): ApplyMessage[5] {
  return operations.some(({ slot }) => slot !== undefined) ? operations.map(({ slot = null }) => slot) : null;
}
