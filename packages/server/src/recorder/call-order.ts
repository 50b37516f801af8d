import type { RecordedCall, RecordedLimit } from "./recording-entry.ts";

/** A call with what is needed to do it again. */
export interface PlacedCall extends RecordedCall {
  /** The limits of its recording, by number. */
  readonly limits: readonly RecordedLimit[];
  /** The index of the recording. */
  readonly recording: number;
}

/**
 * The order in which the store did the calls of all recordings. Its time tells, and for calls that one process sent
 * together, their order there. An answer that was repeated under an idempotency key has the time of the first: repeated
 * calls come last of their moment, where they change nothing.
 */
export function inOrder(calls: readonly PlacedCall[]): readonly PlacedCall[] {
  const repeated = repeatedCalls(calls);
  return [...calls].sort(
    (a, b) =>
      a.time - b.time ||
      Number(repeated.has(a)) - Number(repeated.has(b)) ||
      a.recording - b.recording ||
      a.number - b.number,
  );
}

/** Calls that have an idempotency key and a time in common: the first, and those that were told its answer. */
export function sameRequests(calls: readonly PlacedCall[]): ReadonlyMap<PlacedCall, readonly PlacedCall[]> {
  const requests = new Map<string, PlacedCall[]>();
  const found = new Map<PlacedCall, readonly PlacedCall[]>();
  for (const call of calls) {
    if (call.idempotency === undefined) continue;
    const name = requestOf(call, call.idempotency.key);
    const same = requests.get(name) ?? [];
    same.push(call);
    requests.set(name, same);
    found.set(call, same);
  }
  return found;
}

function requestOf({ key, time }: PlacedCall, idempotencyKey: string): string {
  return JSON.stringify([key, idempotencyKey, time]);
}

function repeatedCalls(calls: readonly PlacedCall[]): ReadonlySet<PlacedCall> {
  const repeated = outOfOrder(calls);
  // How many calls a process had decided in a moment: the process of the first call sent it with others.
  const together = new Map<string, number>();
  const momentOf = ({ recording, time }: PlacedCall): string => `${recording} ${time}`;
  for (const call of calls) {
    if (!repeated.has(call)) together.set(momentOf(call), (together.get(momentOf(call)) ?? 0) + 1);
  }
  const first = new Map<string, PlacedCall>();
  for (const call of calls) {
    if (call.idempotency === undefined || repeated.has(call)) continue;
    const name = requestOf(call, call.idempotency.key);
    const other = first.get(name);
    const isFirst = other === undefined || (together.get(momentOf(call)) ?? 0) > (together.get(momentOf(other)) ?? 0);
    if (isFirst) first.set(name, call);
    const later = isFirst ? other : call;
    if (later !== undefined) repeated.add(later);
  }
  return repeated;
}

/** Calls that were decided before an earlier call of their process, and so were not decided then. */
function outOfOrder(calls: readonly PlacedCall[]): Set<PlacedCall> {
  const latest = new Map<number, number>();
  const found = new Set<PlacedCall>();
  for (const call of [...calls].sort((a, b) => a.number - b.number)) {
    const before = latest.get(call.recording) ?? Number.NEGATIVE_INFINITY;
    if (call.time >= before) latest.set(call.recording, call.time);
    else if (call.idempotency !== undefined) found.add(call);
  }
  return found;
}
