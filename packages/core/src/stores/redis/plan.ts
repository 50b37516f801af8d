import type { Limit } from "../../limit/limit.ts";
import { fingerprint, IDEMPOTENCY_WINDOW } from "../fingerprint.ts";
import type { Action, Answer, ApplyOptions, Operation, Rule } from "../store.ts";
import { digest, escaped, tagOf } from "./key-names.ts";

/** A rule as the script knows it: what its keys end with, and its limit in JSON. */
interface PlannedRule {
  readonly suffix: string;
  readonly limit: string;
}

/** A request on its way to Redis. */
export interface Request {
  readonly action: Action;
  readonly operations: readonly Operation[];
  readonly rules: readonly PlannedRule[];
  /** The rows of its operations, and its idempotency record if it has one. */
  readonly keys: readonly string[];
  readonly voidFrom: number;
  readonly fingerprint: string | undefined;
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: Error) => void;
}

/** Turns requests into what the script takes. */
export class Planner {
  private readonly head: string;
  private readonly rules = new WeakMap<Rule, PlannedRule>();

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
    const rules = new Array<PlannedRule>(operations.length);
    const keys = new Array<string>(operations.length);
    for (let i = 0; i < operations.length; i += 1) {
      const { rule, key } = operations[i];
      rules[i] = this.planned(rule);
      keys[i] = this.head + tagOf(key) + rules[i].suffix;
    }
    const idempotencyKey = options?.idempotencyKey;
    if (idempotencyKey !== undefined) {
      keys.push(`${this.head}${tagOf(operations[0].key)}}:${tagOf(idempotencyKey)}:idempotency`);
    }
    return {
      action,
      operations,
      rules,
      keys,
      voidFrom: options?.voidFrom ?? 0,
      fingerprint: idempotencyKey === undefined ? undefined : digest(fingerprint(action, operations)),
      resolve,
      reject,
    };
  }

  private planned(rule: Rule): PlannedRule {
    const known = this.rules.get(rule);
    if (known !== undefined) return known;
    const planned = { suffix: `}:${escaped(rule.name)}:${rule.limit.algorithm}`, limit: limitInJson(rule.limit) };
    this.rules.set(rule, planned);
    return planned;
  }
}

/** The plan of a batch, in JSON; frame.lua says what is in it. */
export function planOf(requests: readonly Request[], now: number | undefined, voidFrom: number | undefined): string {
  const limits: string[] = [];
  const runs: string[] = [];
  for (let from = 0; from < requests.length; ) {
    const request = requests[from];
    let to = from + 1;
    while (to < requests.length && sameShape(request, requests[to])) to += 1;
    runs.push(runInJson(request, to - from, limits));
    from = to;
  }
  const time = now === undefined ? "" : `"now":${now},`;
  const end = voidFrom === undefined ? "" : `"void_from":${voidFrom},`;
  return `{${time}${end}"limits":[${limits.join(",")}],"runs":[${runs.join(",")}]}`;
}

function sameShape(a: Request, b: Request): boolean {
  if (a.action !== b.action || a.voidFrom !== b.voidFrom || a.rules.length !== b.rules.length) return false;
  if (a.fingerprint !== undefined || b.fingerprint !== undefined) return false;
  for (let i = 0; i < a.rules.length; i += 1) {
    if (a.rules[i] !== b.rules[i] || a.operations[i].cost !== b.operations[i].cost) return false;
  }
  return true;
}

function runInJson(request: Request, count: number, limits: string[]): string {
  const operations = request.rules.map(({ limit }, i) => `${placeOf(limit, limits)},${request.operations[i].cost}`);
  const once = request.fingerprint === undefined ? "" : `,"${request.fingerprint}",${IDEMPOTENCY_WINDOW}`;
  return `["${request.action}",${count},${request.voidFrom},[${operations.join(",")}]${once}]`;
}

/** Counted from one, as Lua does. */
function placeOf(limit: string, limits: string[]): number {
  const known = limits.indexOf(limit);
  return known < 0 ? limits.push(limit) : known + 1;
}

/** Numbers are written so that Lua reads the very same doubles. Twins are called by the names of their files. */
function limitInJson({ algorithm, coarse, burst, ...limit }: Limit): string {
  return JSON.stringify({ algorithm: algorithm.replaceAll("_", "-"), ...limit, ...(coarse ? { coarse } : {}) });
}
