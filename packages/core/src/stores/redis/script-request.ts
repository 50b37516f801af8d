import { algorithmOf, rowsNameOf, slotAlgorithmOf } from "../../algorithms/lookup.ts";
import type { Clock } from "../../clock/clock.ts";
import type { Calendar } from "../../limits/calendar.ts";
import type { Limit } from "../../limits/limit.ts";
import { type EntryStep, endKeyOf } from "../../reservations/journal.ts";
import { fingerprint, IDEMPOTENCY_WINDOW } from "../idempotency-fingerprint.ts";
import { requireSlots } from "../slot-operations.ts";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  counterOf,
  type Operation,
  type Reserved,
  type Rule,
} from "../store.ts";
import { digest, escaped, holderName, tagOf } from "./key-names.ts";
import { REQUESTS, type Script, type Twin, twinOf } from "./lua-script.ts";
import { PackedWriter } from "./packed-writer.ts";
import { type JournalKeys, journalKeys, partOf } from "./redis-journal.ts";

/** A limit as the scripts read it. */
export interface PlannedLimit {
  readonly twin: Twin;
  /** What does not change with time. */
  readonly packed: Buffer;
  /** The calendar whose windows around the present time follow it. */
  readonly calendar: Calendar | undefined;
  /** Whether its units are slots. */
  readonly isReleasable: boolean;
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
  /** How long its idempotency record is kept: negated if there is none for a denial. */
  readonly rememberFor: number;
  /** What becomes of its entry in the journal, if it has one. */
  readonly entry: EntryStep | undefined;
  /** The keys of the part of the journal that has it. */
  readonly journalKeys: JournalKeys | undefined;
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: Error) => void;
}

/** Converts requests to arguments of the script. */
export class Planner {
  private readonly head: string;
  private readonly journal: readonly JournalKeys[];
  private readonly rules = new WeakMap<Rule, PlannedRule>();
  private readonly limits = new WeakMap<Limit, PlannedLimit>();
  private readonly used = new Set<Script>();

  constructor(prefix: string) {
    this.head = `${prefix}:{`;
    this.journal = journalKeys(prefix);
  }

  request(
    action: Action,
    operations: readonly Operation[],
    options: ApplyOptions | undefined,
    resolve: Request["resolve"],
    reject: Request["reject"],
    voidFrom = options?.voidFrom ?? 0,
  ): Request {
    const entry = options?.entry;
    // An entry that is added is enough to recognize a repeated request; the record is that of the request which ends it.
    const isToldByEntry = entry?.step === "add" && entry.isRemembered !== true;
    const idempotencyKey = isToldByEntry ? undefined : options?.idempotencyKey;
    const record = isToldByEntry ? endKeyOf(entry.id) : idempotencyKey;
    const limits = new Array<PlannedLimit>(operations.length);
    const keys = new Array<string>(record === undefined ? operations.length : operations.length + 1);
    for (let i = 0; i < operations.length; i += 1) {
      const { rule, key, limit } = operations[i];
      const known = this.known(rule);
      limits[i] = limit === undefined ? known.limit : this.planned(limit);
      if (limits[i].isReleasable || action === "extend" || action === "release") requireSlots(action, operations[i]);
      keys[i] = this.head + tagOf(key) + known.suffix;
    }
    if (record !== undefined) {
      keys[operations.length] = `${this.head}${tagOf(operations[0].key)}}:${tagOf(record)}:idempotency`;
    }
    return {
      action,
      operations,
      limits,
      keys,
      voidFrom,
      fingerprint: idempotencyKey === undefined ? "" : digest(fingerprint(action, operations, options?.context)),
      rememberFor: (options?.rememberFor ?? IDEMPOTENCY_WINDOW) * (options?.forgetsDenial ? -1 : 1),
      entry,
      journalKeys: entry && this.journal[partOf(entry.id)],
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
    const suffix = `}:${escaped(counterOf(rule))}:${rowsNameOf(rule.limit)}`;
    const made = { suffix, limit: this.planned(rule.limit) };
    this.rules.set(rule, made);
    return made;
  }

  private planned(limit: Limit): PlannedLimit {
    const known = this.limits.get(limit);
    if (known !== undefined) return known;
    const isReleasable = slotAlgorithmOf(limit) !== undefined;
    const made = { twin: twinOf(limit), packed: packedLimit(limit), calendar: limit.calendar, isReleasable };
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
  /** Roughly the server's time: the windows of a calendar around it are sent. */
  readonly clock: Pick<Clock, "now">;
}

/** A script and its arguments. */
export interface Plan {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly packed: Buffer;
}

/** The keys of a batch: those of the requests, then those of each part of the journal. */
function keysOf(requests: readonly Request[]): readonly string[] {
  if (requests.length === 1 && requests[0].journalKeys === undefined) return requests[0].keys;
  const keys: string[] = [];
  for (const request of requests) for (const key of request.keys) keys.push(key);
  for (const part of journalPartsOf(requests)) keys.push(...part);
  return keys;
}

/** Requests of one turn of the event loop have their entries in the same part. */
export function journalPartsOf(requests: readonly Request[]): readonly JournalKeys[] {
  const parts: JournalKeys[] = [];
  for (const { journalKeys } of requests) {
    if (journalKeys !== undefined && !parts.includes(journalKeys)) parts.push(journalKeys);
  }
  return parts;
}

/** How to ask for a batch. */
export function planOf(requests: readonly Request[], times: Times): Plan {
  const [first] = requests;
  const keys = keysOf(requests);
  const take = first !== undefined && isTake(first) ? first.limits[0].twin.take : undefined;
  return take !== undefined && requests.every((request) => request === first || sameShape(first, request))
    ? { script: take, keys, packed: packedTake(requests, times) }
    : { script: REQUESTS, keys, packed: packedRequests(requests, times) };
}

function isTake({ action, limits, fingerprint, entry }: Request): boolean {
  return action === "take" && limits.length === 1 && fingerprint === "" && entry === undefined;
}

/** The arguments of take.lua, which describes them. */
function packedTake(requests: readonly Request[], times: Times): Buffer {
  const [request] = requests;
  const [one, other] = [times.voidFrom, voidFromOf(request, times)];
  const voidFrom = one > 0 && other > 0 ? Math.min(one, other) : Math.max(one, other);
  const packed = packedNow(request.limits[0], times);
  const bytes = Buffer.allocUnsafe(17 + packed.length);
  bytes.writeDoubleLE(voidFrom, 0);
  bytes.writeDoubleLE(request.operations[0].cost, 8);
  bytes[16] = hasRepeatedKeys(requests) ? 1 : 0;
  bytes.set(packed, 17);
  return bytes;
}

export function hasRepeatedKeys(requests: readonly Request[]): boolean {
  return requests.length > 1 && new Set(requests.map(({ keys: [key] }) => key)).size < requests.length;
}

/** Reused: with texts of the journal, a batch has some 30 kB, and growing to that each time would keep the collector busy. */
export const scratch = new PackedWriter();

/** The arguments of requests.lua, which describes them. */
function packedRequests(requests: readonly Request[], times: Times): Buffer {
  const limits: PlannedLimit[] = [];
  const runs = scratch.reset();
  const parts = journalPartsOf(requests);
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
      const { cost, reserved = NOTHING } = request.operations[i];
      runs.number(request.action === "settle" ? cost - reserved.cost : cost);
      if (request.action === "settle") runs.number(reserved.until);
    }
    runs.text(request.fingerprint);
    runs.number(request.rememberFor);
    runs.text(request.entry?.step ?? "");
    if (request.limits.some(({ isReleasable }) => isReleasable)) {
      for (let i = from; i < to; i += 1) writeHolders(requests[i], runs);
    }
    if (request.entry !== undefined) writeEntry(request.entry, placeOfPart(request, parts), runs);
    from = to;
  }
  const all = new PackedWriter(runs.packed.length + 128 * (limits.length + 1));
  all.number(times.voidFrom);
  all.number(limits.length);
  for (const limit of limits) {
    all.text(limit.twin.name);
    all.bytes(packedNow(limit, times));
  }
  all.number(parts.length);
  all.number(count);
  all.bytes(runs.packed);
  return all.packed;
}

/** The reservations that hold the slots of a request. */
function writeHolders({ operations, limits }: Request, writer: PackedWriter): void {
  for (let i = 0; i < operations.length; i += 1) {
    if (!limits[i].isReleasable) continue;
    const { slot } = operations[i];
    writer.text(slot === undefined ? "" : holderName(slot.id));
    writer.number(slot?.forUs ?? 0);
  }
}

function writeEntry(entry: EntryStep, part: number, writer: PackedWriter): void {
  writer.number(part);
  writer.sized(entry.id);
  if (entry.step !== "add") return;
  writer.number(entry.forMs);
  writer.sized(entry.text);
}

/** When a request becomes void by the server's clock; 0 if never, or if unknown. */
export function voidFromOf({ voidFrom }: Request, { ahead }: Times): number {
  return voidFrom > 0 && !Number.isNaN(ahead) ? Math.max(1, voidFrom + ahead) : 0;
}

export const NOTHING: Reserved = { cost: 0, until: 0 };

function sameShape(a: Request, b: Request): boolean {
  if (a.action !== b.action || a.voidFrom !== b.voidFrom || a.limits.length !== b.limits.length) return false;
  if (a.fingerprint !== "" || b.fingerprint !== "" || a.action === "settle") return false;
  if (a.entry !== undefined || b.entry !== undefined) return false;
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

/** Counted from zero. */
function placeOfPart({ journalKeys }: Request, parts: readonly JournalKeys[]): number {
  return journalKeys === undefined ? 0 : parts.indexOf(journalKeys);
}

/** What the twin's `read_limit` reads. Windows of a calendar are those around the time of the call. */
export function packedNow({ packed, calendar }: PlannedLimit, { clock }: Times): Buffer {
  if (calendar === undefined) return packed;
  const writer = new PackedWriter();
  writer.bytes(packed);
  for (const boundary of calendar.boundariesAround(clock.now())) writer.number(boundary);
  return writer.packed;
}

/** The fields of a limit that the twin's `read_limit` reads. */
function packedLimit(limit: Limit): Buffer {
  const writer = new PackedWriter();
  for (const field of (slotAlgorithmOf(limit) ?? algorithmOf(limit)).luaFields) {
    const value = limit[field];
    if (typeof value === "number") writer.number(value);
    else writer.text(String(value));
  }
  return writer.packed;
}

/** Before a server's first reply, only the local clock is known. */
export function noTimes(clock: Clock): Times {
  return { now: "", voidFrom: 0, ahead: Number.NaN, clock };
}
