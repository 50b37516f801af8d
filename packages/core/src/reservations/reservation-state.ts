import { isCost } from "../limiter/check-options.ts";
import type { Limit } from "../limits/limit.ts";
import { limitFromJson } from "../limits/limit-json.ts";
import type { Operation, Rule } from "../stores/store.ts";
import { ReservedQuota } from "./reserved-quota.ts";

/** All that a process must know to settle or release a reservation: what the journal records. */
export class ReservationState<Name extends string = string> {
  readonly id: string;
  /** How long it outlives its process, in milliseconds. */
  readonly forMs: number;
  /** The longest time that it was extended by. */
  longestMs: number;
  readonly quotas: readonly ReservedQuota<Name>[];
  /** Whether it has quota that must be settled, and not only slots. */
  readonly hasRates: boolean;
  readonly hasSlots: boolean;
  /** On whose behalf it was made, if only the owner may settle it. */
  owner: string | undefined;
  /** When it was made, by the store's clock, in microseconds. */
  madeAt = 0;
  /** Whether it is a pending take of a check rather than a reservation that a caller made. */
  isPending = false;
  /** Whether it is known that the quota was taken. */
  isTaken = false;
  /** Whether its entry was written in the same step in which its quota was taken: if there is an entry, it was. */
  isAtomic = false;
  /** Whether its entry was removed in the same step in which it was settled. */
  isEntryRemoved = false;
  /** How often it was adjusted. */
  steps = 0;
  /** The new costs of an adjustment that may have been carried out. */
  adjusting: readonly number[] | undefined;
  /** The costs that it was settled with, whether or not the store knows. */
  settled: readonly number[] | undefined;
  /** Whether it was ended by another process because its own did not extend it in time. */
  isAbandoned = false;

  constructor(id: string, forMs: number, quotas: readonly ReservedQuota<Name>[]) {
    this.id = id;
    this.forMs = forMs;
    this.longestMs = forMs;
    this.quotas = quotas;
    this.hasRates = quotas.some(({ isSlots }) => !isSlots);
    this.hasSlots = quotas.some(({ isSlots }) => isSlots);
  }

  get isSpent(): boolean {
    return this.quotas.some(({ spent }) => spent !== undefined && spent > 0);
  }

  /** What is reserved. */
  get checks(): readonly ReservedCheck[] {
    return this.quotas.map(({ operation: { rule, key }, cost, spent, isSlots }) => {
      return { rule: rule.name, key, cost, spent, isSlots };
    });
  }

  /** The costs if it is never settled: what was spent, or nothing. */
  get costsUnlessSettled(): readonly number[] {
    const { isSpent } = this;
    return this.settled ?? this.quotas.map((quota) => quota.costUnlessStated(isSpent));
  }

  /** Notes that its quota was taken, and when, by the store's clock in microseconds. */
  noteTaken(time: number): void {
    this.isTaken = true;
    for (const quota of this.quotas) if (quota.until === 0) quota.taken(quota.cost, time);
  }

  /** Takes over what another process has recorded since. */
  update({ isTaken, steps, adjusting, longestMs, quotas }: ReservationState): void {
    Object.assign(this, { isTaken, steps, adjusting, longestMs });
    for (const [i, { cost, sunk, until, spent }] of quotas.entries())
      Object.assign(this.quotas[i], { cost, sunk, until, spent });
  }

  write(): string {
    const { forMs, longestMs, owner, madeAt, isTaken, steps, adjusting, settled } = this;
    let text = `{"forMs":${forMs},"longestMs":${longestMs},"madeAt":${madeAt},"isTaken":${isTaken},"steps":${steps}`;
    if (owner !== undefined) text += `,"owner":${JSON.stringify(owner)}`;
    if (this.isPending) text += ',"isPending":true';
    if (this.isAtomic) text += ',"isAtomic":true';
    if (adjusting !== undefined) text += `,"adjusting":${JSON.stringify(adjusting)}`;
    if (settled !== undefined) text += `,"settled":${JSON.stringify(settled)}`;
    if (this.isAbandoned) text += ',"isAbandoned":true';
    for (let i = 0; i < this.quotas.length; i += 1) text += (i === 0 ? ',"quotas":[' : ",") + quotaText(this.quotas[i]);
    return `${text}]}`;
  }

  /** Parses an entry of the journal. Returns undefined if it cannot be read, for example because another version wrote it. */
  static read(id: string, text: string): ReservationState | undefined {
    try {
      const value: unknown = JSON.parse(text);
      return isState(value) ? stateOf(id, value) : undefined;
    } catch {
      return undefined;
    }
  }
}

function quotaText({ operation, isFinal, cost, sunk, until, spent }: ReservedQuota): string {
  const { rule, key, limit } = operation;
  const own = limit === undefined ? "" : `,"limit":${JSON.stringify(limit)}`;
  const used = spent === undefined ? "" : `,"spent":${spent}`;
  const numbers = `"isFinal":${isFinal},"cost":${cost},"sunk":${sunk},"until":${until}${used}`;
  return `{"rule":${ruleText(rule)},"key":${JSON.stringify(key)}${own},${numbers}}`;
}

const ruleTexts = new WeakMap<Rule, string>();

/** Rules are written again and again, and their limits are long. */
function ruleText(rule: Rule): string {
  const known = ruleTexts.get(rule);
  if (known !== undefined) return known;
  const { name, counter, limit } = rule;
  const text = JSON.stringify({ name, counter, limit });
  ruleTexts.set(rule, text);
  return text;
}

/** What is reserved under one rule and key. */
export interface ReservedCheck {
  readonly rule: string;
  readonly key: string;
  readonly cost: number;
  /** What `spend` has counted, as far as it is known. */
  readonly spent: number | undefined;
  readonly isSlots: boolean;
}

interface Written {
  readonly forMs: number;
  readonly longestMs: number;
  readonly owner?: string;
  readonly madeAt?: number;
  readonly isPending?: boolean;
  readonly isTaken: boolean;
  readonly isAtomic?: boolean;
  readonly steps: number;
  readonly adjusting?: readonly number[];
  readonly settled?: readonly number[];
  readonly isAbandoned?: boolean;
  readonly quotas: readonly WrittenQuota[];
}

interface WrittenQuota {
  readonly rule: Rule;
  readonly key: string;
  readonly limit?: Limit;
  readonly isFinal: boolean;
  readonly cost: number;
  readonly sunk: number;
  readonly until: number;
  readonly spent?: number;
}

function stateOf(id: string, written: Written): ReservationState {
  const quotas = written.quotas.map(({ rule, key, limit, isFinal, cost, sunk, until, spent }) => {
    const revived = { ...rule, limit: limitFromJson(rule.limit) ?? rule.limit };
    const operation: Operation = { rule: revived, key, cost, ...(limit && { limit: limitFromJson(limit) ?? limit }) };
    return Object.assign(new ReservedQuota(operation, isFinal), { sunk, until, spent });
  });
  const { forMs, longestMs, owner, madeAt = 0, isPending = false } = written;
  const { isTaken, isAtomic = false, steps, adjusting, settled, isAbandoned = false } = written;
  const state = new ReservationState(id, forMs, quotas);
  const made = { longestMs, owner, madeAt, isPending };
  return Object.assign(state, made, { isTaken, isAtomic, steps, adjusting, settled, isAbandoned });
}

function isState(value: unknown): value is Written {
  if (!hasNumbers(value, ["forMs", "longestMs", "steps"]) || !("isTaken" in value && "quotas" in value)) return false;
  if ("owner" in value && typeof value.owner !== "string") return false;
  if ("madeAt" in value && !Number.isFinite(value.madeAt)) return false;
  const { isTaken, quotas } = value;
  if (typeof isTaken !== "boolean" || !Array.isArray(quotas) || quotas.length === 0 || !quotas.every(isQuota)) {
    return false;
  }
  return ["adjusting", "settled"].every((name) => {
    const costs: unknown = Reflect.get(value, name);
    return costs === undefined || (Array.isArray(costs) && costs.length === quotas.length && costs.every(isCost));
  });
}

function isQuota(value: unknown): value is WrittenQuota {
  if (!hasNumbers(value, ["cost", "sunk", "until"]) || !("rule" in value && "key" in value)) return false;
  if ("limit" in value && limitFromJson(value.limit) === undefined) return false;
  if ("spent" in value && !isCost(value.spent)) return false;
  return typeof value.key === "string" && isRule(value.rule);
}

function isRule(value: unknown): value is Rule {
  if (typeof value !== "object" || value === null || !("name" in value && "limit" in value)) return false;
  if ("counter" in value && typeof value.counter !== "string") return false;
  return typeof value.name === "string" && limitFromJson(value.limit) !== undefined;
}

function hasNumbers(value: unknown, names: readonly string[]): value is object {
  return (
    typeof value === "object" && value !== null && names.every((name) => Number.isFinite(Reflect.get(value, name)))
  );
}
