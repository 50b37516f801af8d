import { connect, type Socket } from "node:net";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  type Limit,
  type Operation,
  type Rule,
  StoreError,
} from "headgate";
import { answersOf, eachLine, errorOf, type Figures, type ReplyLine, type RequestMessage } from "./worker-wire.ts";

/** Calls that wait for a worker, at most. A frozen worker must not fill the memory of the others. */
const MOST_WAITING = 20_000;
/** When this many rules were sent, numbering starts again. */
const MOST_RULES = 100_000;

interface Waiting {
  readonly resolve: (result: Figures | string) => void;
  readonly reject: (error: Error) => void;
}

/** The connection to another worker. It is opened by the first call, and again by the first call after it was lost. */
export class WorkerLink {
  readonly #path: string;
  readonly #name: string;
  readonly #waiting = new Map<number, Waiting>();
  #socket: Socket | undefined;
  #outbox: RequestMessage[] = [];
  /** Whether the last batch is not acknowledged yet. Meanwhile, messages wait for the next one. */
  #isUnderWay = false;
  #calls = 0;
  /** By the limit of the call, or by the rule for calls without one of their own. */
  #ids = new WeakMap<Rule, WeakMap<Limit | Rule, number>>();
  #idsByText = new Map<string, number>();

  constructor(path: string, name: string) {
    this.#path = path;
    this.#name = name;
  }

  /** With options from `sentOptions`. */
  async apply(
    action: Action,
    operations: readonly Operation[],
    options: ApplyOptions | null,
  ): Promise<readonly Answer[]> {
    // Not while the list is being made: its numbers would be of two kinds.
    if (this.#idsByText.size + operations.length > MOST_RULES) {
      this.#forgetRules();
      this.#send(["forget"]);
    }
    const list: number[] = [];
    for (const { rule, limit, cost } of operations) list.push(this.#idOf(rule, limit), cost);
    const [{ key }] = operations;
    const holders = operations.some(({ slot }) => slot !== undefined)
      ? operations.map(({ slot = null }) => slot)
      : null;
    const figures = await this.#call((call) => ["apply", call, action, key, list, options, holders]);
    return answersOf(typeof figures === "string" ? [] : figures);
  }

  async metrics(): Promise<string> {
    return String(await this.#call((call) => ["metrics", call]));
  }

  /** Resolves when the worker has read rules and API keys again. */
  async refresh(): Promise<void> {
    await this.#call((call) => ["refresh", call]);
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

  #call(messageOf: (call: number) => RequestMessage): Promise<Figures | string> {
    if (this.#waiting.size >= MOST_WAITING) return Promise.reject(this.#unreachable());
    this.#calls += 1;
    const call = this.#calls;
    return new Promise((resolve, reject) => {
      this.#waiting.set(call, { resolve, reject });
      this.#send(messageOf(call));
    });
  }

  #send(message: RequestMessage): void {
    this.#open();
    if (this.#outbox.push(message) === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    // The busier the workers are, the more messages share a batch; a single one is sent at once.
    if (this.#outbox.length === 0 || this.#isUnderWay) return;
    this.#isUnderWay = true;
    this.#socket?.write(`${JSON.stringify(this.#outbox)}\n`);
    this.#outbox = [];
  }

  #open(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect(this.#path).setEncoding("utf8");
    this.#socket = socket;
    socket.on(
      "data",
      eachLine((line) => this.#receive(line)),
    );
    // Followed by "close".
    socket.on("error", () => {});
    socket.once("close", () => this.#lost());
    return socket;
  }

  #receive(line: string): void {
    const { isAcknowledged, replies }: ReplyLine = JSON.parse(line);
    if (isAcknowledged) {
      this.#isUnderWay = false;
      this.#flush();
    }
    for (const [call, result] of replies) {
      const waiting = this.#waiting.get(call);
      this.#waiting.delete(call);
      if (typeof result === "string" || Array.isArray(result)) waiting?.resolve(result);
      else if ("code" in result) waiting?.reject(errorOf(result));
    }
  }

  #lost(): void {
    this.#socket = undefined;
    this.#outbox = [];
    this.#isUnderWay = false;
    this.#forgetRules();
    const error = this.#unreachable();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
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
