import { algorithmOf } from "../../algorithms/lookup.ts";
import type { Limit } from "../../limits/limit.ts";
import { fingerprint, IDEMPOTENCY_WINDOW } from "../idempotency.ts";
import { type Action, type Answer, type ApplyOptions, counterOf, type Operation, type Rule } from "../store.ts";
import { digest, escaped, tagOf } from "./key-names.ts";
import { REQUESTS, type Script, type Twin, twinOf } from "./lua-script.ts";
import { PackedWriter } from "./packed-writer.ts";

/** A limit as the scripts read it. */
interface PlannedLimit {
  readonly twin: Twin;
  readonly packed: Buffer;
}

/** A rule for the script: the suffix of its keys, and its limit. */
interface PlannedRule {
  readonly suffix: string;
  readonly limit: PlannedLimit;
}

/** A request in flight. */
export interface Request {
  readonly action: Action;
  readonly operations: readonly Operation[];
  readonly limits: readonly PlannedLimit[];
  /** The rows of its operations, and its idempotency record if it has one. */
  readonly keys: readonly string[];
  readonly voidFrom: number;
  /** The fingerprint of a request with an idempotency key; otherwise empty. */
  readonly fingerprint: string;
  /** How long its idempotency record is kept. */
  readonly rememberFor: number;
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: Error) => void;
}

/** Converts requests to arguments of the script. */
export class Planner {
  private readonly head: string;
  private readonly rules = new WeakMap<Rule, PlannedRule>();
  private readonly limits = new WeakMap<Limit, PlannedLimit>();
  private readonly used = new Set<Script>();

  constructor(prefix: string) {
    this.head = `${prefix}:{`;
  }

  request(
    action: Action,
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
    resolve: Request["resolve"],
    reject: Request["reject"],
  ): Request {
    const limits = new Array<PlannedLimit>(operations.length);
    const keys = new Array<string>(operations.length);
    for (let i = 0; i < operations.length; i += 1) {
      const { rule, key, limit } = operations[i];
      const known = this.known(rule);
      limits[i] = limit === undefined ? known.limit : this.planned(limit);
      keys[i] = this.head + tagOf(key) + known.suffix;
    }
    const idempotencyKey = options?.idempotencyKey;
    if (idempotencyKey !== undefined) {
      keys.push(`${this.head}${tagOf(operations[0].key)}}:${tagOf(idempotencyKey)}:idempotency`);
    }
    return {
      action,
      operations,
      limits,
      keys,
      voidFrom: options?.voidFrom ?? 0,
      fingerprint: idempotencyKey === undefined ? "" : digest(fingerprint(action, operations, options?.context)),
      rememberFor: options?.rememberFor ?? IDEMPOTENCY_WINDOW,
      resolve,
      reject,
    };
  }

  /** Gets to know a rule before its first request. */
  open(rule: Rule): void {
    this.known(rule);
  }

  /** The scripts that rules known so far are decided by. */
  get scripts(): readonly Script[] {
    return [...this.used];
  }

  private known(rule: Rule): PlannedRule {
    const known = this.rules.get(rule);
    if (known !== undefined) return known;
    const suffix = `}:${escaped(counterOf(rule))}:${rule.limit.algorithm}`;
    const made = { suffix, limit: this.planned(rule.limit) };
    this.rules.set(rule, made);
    return made;
  }

  private planned(limit: Limit): PlannedLimit {
    const known = this.limits.get(limit);
    if (known !== undefined) return known;
    const made = { twin: twinOf(limit.algorithm, limit.coarse), packed: packedLimit(limit) };
    this.limits.set(limit, made);
    if (made.twin.take !== undefined) this.used.add(made.twin.take);
    return made;
  }
}

/** The times of a call, in microseconds. */
export interface Times {
  /** The time of the decision, if it is not the server's. */
  readonly now: number | "";
  /** When the whole call becomes void, by the server's clock; 0 if unknown. */
  readonly voidFrom: number;
  /** How far the server's clock is ahead of the one used in requests; NaN if unknown. */
  readonly ahead: number;
}

export const NO_TIMES: Times = { now: "", voidFrom: 0, ahead: Number.NaN };

/** A script, and its arguments but for the keys. */
export interface Plan {
  readonly script: Script;
  readonly packed: Buffer;
}

/** How to ask for a batch. */
export function planOf(requests: readonly Request[], times: Times): Plan {
  const [first] = requests;
  const take = first !== undefined && isTake(first) ? first.limits[0].twin.take : undefined;
  return take !== undefined && requests.every((request) => request === first || sameShape(first, request))
    ? { script: take, packed: packedTake(requests, times) }
    : { script: REQUESTS, packed: packedRequests(requests, times) };
}

function isTake({ action, limits, fingerprint }: Request): boolean {
  return action === "take" && limits.length === 1 && fingerprint === "";
}

/** take.lua says what it is. */
function packedTake(requests: readonly Request[], times: Times): Buffer {
  const [request] = requests;
  const [one, other] = [times.voidFrom, voidFromOf(request, times)];
  const voidFrom = one > 0 && other > 0 ? Math.min(one, other) : Math.max(one, other);
  const { packed } = request.limits[0];
  const bytes = Buffer.allocUnsafe(17 + packed.length);
  bytes.writeDoubleLE(voidFrom, 0);
  bytes.writeDoubleLE(request.operations[0].cost, 8);
  bytes[16] = hasRepeatedKeys(requests) ? 1 : 0;
  bytes.set(packed, 17);
  return bytes;
}

function hasRepeatedKeys(requests: readonly Request[]): boolean {
  return requests.length > 1 && new Set(requests.map(({ keys: [key] }) => key)).size < requests.length;
}

/** requests.lua says what it is. */
function packedRequests(requests: readonly Request[], times: Times): Buffer {
  const limits: PlannedLimit[] = [];
  const runs = new PackedWriter();
  let count = 0;
  for (let from = 0; from < requests.length; count += 1) {
    const request = requests[from];
    let to = from + 1;
    while (to < requests.length && sameShape(request, requests[to])) to += 1;
    runs.text(request.action);
    runs.number(to - from);
    runs.number(voidFromOf(request, times));
    runs.number(request.operations.length);
    for (let i = 0; i < request.limits.length; i += 1) {
      runs.number(placeOf(request.limits[i], limits));
      runs.number(request.operations[i].cost);
    }
    runs.text(request.fingerprint);
    runs.number(request.rememberFor);
    from = to;
  }
  const all = new PackedWriter();
  all.number(times.voidFrom);
  all.number(limits.length);
  for (const { twin, packed } of limits) {
    all.text(twin.name);
    all.bytes(packed);
  }
  all.number(count);
  all.bytes(runs.packed);
  return all.packed;
}

/** When a request becomes void by the server's clock; 0 if never, or if unknown. */
function voidFromOf({ voidFrom }: Request, { ahead }: Times): number {
  return voidFrom > 0 && !Number.isNaN(ahead) ? Math.max(1, voidFrom + ahead) : 0;
}

function sameShape(a: Request, b: Request): boolean {
  if (a.action !== b.action || a.voidFrom !== b.voidFrom || a.limits.length !== b.limits.length) return false;
  if (a.fingerprint !== "" || b.fingerprint !== "") return false;
  for (let i = 0; i < a.limits.length; i += 1) {
    if (a.limits[i] !== b.limits[i] || a.operations[i].cost !== b.operations[i].cost) return false;
  }
  return true;
}

/** Counted from one, as in Lua. */
function placeOf(limit: PlannedLimit, limits: PlannedLimit[]): number {
  const known = limits.indexOf(limit);
  return known < 0 ? limits.push(limit) : known + 1;
}

/** What the twin's `read_limit` reads. */
function packedLimit(limit: Limit): Buffer {
  const writer = new PackedWriter();
  for (const field of algorithmOf(limit).luaFields) {
    const value = limit[field];
    if (typeof value === "number") writer.number(value);
    else writer.text(String(value));
  }
  return writer.packed;
}
