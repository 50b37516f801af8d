import { algorithmOf } from "../../algorithms/lookup.ts";
import type { Limit } from "../../limits/limit.ts";
import { fingerprint, IDEMPOTENCY_WINDOW } from "../idempotency.ts";
import { type Action, type Answer, type ApplyOptions, counterOf, type Operation, type Rule } from "../store.ts";
import { digest, escaped, tagOf } from "./key-names.ts";
import { FRAME, type Script, SHORT } from "./lua-script.ts";

/** A limit as the script reads it. */
interface PlannedLimit {
  readonly fields: readonly string[];
  /** Whether its row is a few numbers and never grows. */
  readonly isShort: boolean;
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
    const made = { fields: fieldsOf(limit), isShort: algorithmOf(limit).resize === undefined };
    this.limits.set(limit, made);
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

/** A script and its arguments, except for undeclared keys. */
export interface Plan {
  readonly script: Script;
  readonly args: readonly (string | number)[];
}

/** Plans the call for a batch. `isDeclared`: whether all of its keys are declared. */
export function planOf(requests: readonly Request[], times: Times, isDeclared: boolean): Plan {
  const [first] = requests;
  const isShort = isDeclared && first?.limits.length === 1 && first.limits[0].isShort && isTake(first);
  return isShort && requests.every((request) => request === first || sameShape(first, request))
    ? { script: SHORT, args: shortArguments(first, times) }
    : { script: FRAME, args: frameArguments(requests, times) };
}

function isTake({ action, fingerprint }: Request): boolean {
  return action === "take" && fingerprint === "";
}

/** Documented in short.lua. */
function shortArguments(request: Request, times: Times): (string | number)[] {
  const [algorithm, coarse, ...fields] = request.limits[0].fields;
  const [one, other] = [times.voidFrom, voidFromOf(request, times)];
  const voidFrom = one > 0 && other > 0 ? Math.min(one, other) : Math.max(one, other);
  return [algorithm, coarse, request.operations[0].cost, voidFrom, times.now, ...fields];
}

/** Documented in frame.lua. */
function frameArguments(requests: readonly Request[], times: Times): (string | number)[] {
  const limits: PlannedLimit[] = [];
  const runs: (string | number)[] = [];
  let count = 0;
  for (let from = 0; from < requests.length; count += 1) {
    const request = requests[from];
    let to = from + 1;
    while (to < requests.length && sameShape(request, requests[to])) to += 1;
    runs.push(request.action, to - from, voidFromOf(request, times), request.operations.length);
    for (let i = 0; i < request.limits.length; i += 1) {
      runs.push(placeOf(request.limits[i], limits), request.operations[i].cost);
    }
    runs.push(request.fingerprint, request.rememberFor);
    from = to;
  }
  const { now, voidFrom } = times;
  const args = [0, now, voidFrom, limits.length, ...limits.flatMap(({ fields }) => fields), count, ...runs];
  args[0] = args.length;
  return args;
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

/** Numbers are written so that Lua reads the same doubles. Algorithms are named after their Lua files. */
function fieldsOf(limit: Limit): string[] {
  const twin = limit.algorithm.replaceAll("_", "-");
  return [twin, limit.coarse ? "1" : "0", ...algorithmOf(limit).luaFields.map((field) => String(limit[field]))];
}
