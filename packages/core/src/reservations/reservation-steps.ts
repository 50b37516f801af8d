import { HeadgateError } from "../errors.ts";
import { decide, verdictOf } from "../limiter/decide.ts";
import type { Decision } from "../limiter/decision.ts";
import { Verdict } from "../limiter/verdict.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import type { ApplyOptions, Operation, Store } from "../stores/store.ts";
import { type EntryStep, endKeyOf } from "./journal.ts";
import type { ReservationState } from "./reservation-state.ts";

/**
 * How long the store remembers the steps of a reservation after its deadline, in microseconds. Later than that it is
 * unknown what other processes did, so nothing is given back.
 */
export const REMEMBERED = 900_000_000;
const END = endKeyOf("");
/** Margin for clocks that differ slightly. */
const SLACK = 10_000_000;

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

export interface TakeOptions {
  readonly entry?: EntryStep | undefined;
  readonly voidFrom?: number;
  readonly storeOnly?: boolean;
  /** Whether others may ask for the same reservation, whether it is allowed or denied; see `ReserveOnce`. */
  readonly isRepeatable?: boolean;
  readonly forgetsDenial?: boolean;
}

/** Takes the quota of a reservation, once, whichever process sends it. */
export async function take<Name extends string>(
  store: Store,
  state: ReservationState<Name>,
  { entry, voidFrom, storeOnly = false, isRepeatable = false, forgetsDenial = false }: TakeOptions = {},
): Promise<Verdict<Name>> {
  const operations = state.quotas.map((quota) => quota.taking(state.id, state.forMs));
  // Slots are taken once anyway, because the store knows which reservation holds them. It does not know the answer.
  const options: Writable<ApplyOptions> = state.hasRates || isRepeatable ? once(store, state, "") : {};
  if (forgetsDenial) options.forgetsDenial = true;
  if (entry !== undefined) options.entry = entry;
  if (voidFrom !== undefined) options.voidFrom = voidFrom;
  if (storeOnly) options.storeOnly = true;
  const verdict = verdictOf("take", operations, await store.apply("take", operations, options));
  // A repeated answer has the time of the first one.
  if (verdict.allowed) state.noteTaken(Math.round(verdict.timeMs * 1000));
  return verdict;
}

/** Carries out the adjustment that the state announces, once. A denial changes nothing. */
export async function adjust<Name extends string>(
  store: Store,
  state: ReservationState<Name>,
): Promise<Verdict<Name> | undefined> {
  const { adjusting, quotas, steps } = state;
  if (adjusting === undefined) return undefined;
  const differs = quotas.flatMap((quota, i) => (quota.isSlots ? [] : { quota, more: adjusting[i] - quota.cost }));
  const raised = differs.filter(({ more }) => more > 0);
  const lowered = differs.filter(({ more }) => more < 0);
  const decisions: Decision<Name>[] = [];
  if (raised.length > 0) {
    const operations = raised.map(({ quota, more }) => ({ ...quota.operation, cost: more }));
    const verdict = await decide(store, "take", operations, once(store, state, `:adjust:${steps}`));
    state.adjusting = verdict.allowed ? adjusting : undefined;
    state.steps = verdict.allowed ? steps : steps + 1;
    if (!verdict.allowed) return verdict;
    decisions.push(...verdict.decisions);
  }
  if (lowered.length > 0) {
    const operations = lowered.map(({ quota, more }) => quota.settling(quota.cost + more));
    decisions.push(...(await decide(store, "settle", operations, once(store, state, `:lower:${steps}`))).decisions);
  }
  const time = Math.round((decisions[0]?.timeMs ?? 0) * 1000);
  for (const { quota, more } of raised) quota.taken(more, time);
  for (const { quota, more } of lowered) {
    // Nothing is given back to a window that has ended.
    if (quota.until <= time) quota.sunk = quota.cost;
    else quota.cost = Math.max(quota.sunk, quota.cost + more);
  }
  state.adjusting = undefined;
  state.steps = steps + 1;
  return decisions.length > 0 ? new Verdict(decisions) : undefined;
}

/**
 * Ends a reservation with these costs: the first to do so decides. Repeated with the same costs, the first answers come
 * back; with others it fails with HG_RESERVATION_SETTLED. Slots are released in any case. `voidFrom` is when the store
 * may have forgotten that another process ended it. `removesEntry`: the entry is removed in the same step if possible.
 * Not if others may ask for it: they would find nothing until it is recorded as ended.
 */
export function end<Name extends string>(
  store: Store,
  state: ReservationState<Name>,
  costs: readonly number[],
  voidFrom: number,
  removing: Removing = { removesEntry: true },
): Promise<Verdict<Name>> {
  if (!state.hasRates) return releaseSlots(store, state);
  const settling = settleRates(store, state, costs, voidFrom, removing);
  return state.hasSlots ? endBoth(state, settling, releaseSlots(store, state)) : settling;
}

async function endBoth<Name extends string>(
  { quotas }: ReservationState<Name>,
  settling: Promise<Verdict<Name>>,
  releasing: Promise<Verdict<Name>>,
): Promise<Verdict<Name>> {
  try {
    const [settled, freed] = await Promise.all([settling, releasing]);
    const [rates, freedSlots] = [[...settled.decisions], [...freed.decisions]];
    return new Verdict(quotas.map(({ isSlots }) => (isSlots ? freedSlots : rates).shift() as Decision<Name>));
  } catch (error) {
    await releasing.catch(() => {});
    throw error;
  }
}

interface Removing {
  readonly removesEntry: boolean;
}

/** Ends a reservation that has rates under them, and leaves its slots alone. See `end`. */
export async function settleRates<Name extends string>(
  store: Store,
  state: ReservationState<Name>,
  costs: readonly number[],
  voidFrom: number,
  { removesEntry }: Removing,
): Promise<Verdict<Name>> {
  const { id, isAtomic, quotas } = state;
  const operations: Operation<Name>[] = [];
  for (let i = 0; i < quotas.length; i += 1) if (!quotas[i].isSlots) operations.push(quotas[i].settling(costs[i]));
  const options: Writable<ApplyOptions> = once(store, state, END);
  options.voidFrom = voidFrom;
  const isRemoved = removesEntry && isAtomic && store.journal?.isAtomic === true;
  if (isRemoved) options.entry = { step: "end", id };
  try {
    const verdict = verdictOf("settle", operations, await store.apply("settle", operations, options));
    state.isEntryRemoved = isRemoved;
    return verdict;
  } catch (error) {
    throw isConflict(error) ? settledBefore(id) : error;
  }
}

/** Charges costs in addition, once. */
export async function chargeLate(
  store: Store,
  state: ReservationState,
  operations: readonly Operation[],
): Promise<void> {
  await store.apply("penalize", operations, once(store, state, ":late"));
}

/** Releases the slots of a reservation, which is always safe when it has ended. */
export async function releaseSlots<Name extends string>(
  store: Store,
  { id, forMs, quotas }: ReservationState<Name>,
  options?: ApplyOptions,
): Promise<Verdict<Name>> {
  const slots: Operation<Name>[] = [];
  for (const quota of quotas) if (quota.isSlots) slots.push(quota.taking(id, forMs));
  return verdictOf("release", slots, await store.apply("release", slots, options));
}

export function settledBefore(id: string): HeadgateError {
  return new HeadgateError(
    "HG_RESERVATION_SETTLED",
    "costs",
    `the reservation ${id} has ended with other costs; nothing was charged`,
  );
}

/** Makes a step happen once, whichever process sends it. A store in memory has no other processes, and loses no replies. */
export function once(store: Store, { id, longestMs }: ReservationState, step: string): ApplyOptions {
  if (store instanceof MemoryStore) return {};
  return { idempotencyKey: id + step, rememberFor: longestMs * 1000 + REMEMBERED + SLACK, storeOnly: step !== "" };
}

function isConflict(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "HG_IDEMPOTENCY_CONFLICT";
}
