import { type Clock, MemoryStore, type Operation, type Source, tokenBucket } from "headgate";
import { inOrder, type PlacedCall, sameRequests } from "./call-order.ts";
import {
  RECORDING_VERSION,
  type RecordedAnswer,
  type RecordedLimit,
  type RecordingHeader,
  readEntry,
} from "./recording-entry.ts";

/** How many differences are listed. */
const MOST_LISTED = 20;

/** Denies what costs more than 1, so that nothing else is charged. */
const DENYING = { name: "denied elsewhere", limit: tokenBucket("1/s") };

/** A decision of the store that the replay decides differently. */
export interface RecordingDifference {
  readonly time: number;
  readonly key: string;
  readonly rule: string;
  readonly recorded: RecordedAnswer;
  readonly replayed: RecordedAnswer;
}

export interface RecordingReport {
  /** Processes that wrote the recordings. */
  readonly nodes: readonly string[];
  readonly keys: number;
  /** Decisions of the store, and how many of them the replay makes in the same way, to the microsecond. */
  readonly decisions: number;
  readonly reproduced: number;
  /** Decisions that differ, and the first of them. */
  readonly differing: number;
  readonly differences: readonly RecordingDifference[];
  /** Decisions that cannot be compared: the key had used quota before the recording began, */
  readonly begunBefore: number;
  /** or a call for the key was not answered, so it is unknown whether the store did it. */
  readonly uncertain: number;
  /** Decisions that were not made by the store, by source. */
  readonly others: Readonly<Record<Exclude<Source, "store">, number>>;
  /**
   * Since when the recordings have everything: the latest time in segments that are missing. Earlier decisions are not
   * compared. Undefined if nothing is missing.
   */
  readonly completeFrom?: number;
  readonly incomplete: number;
  /** Entries that were not recorded, and lines that could not be read. */
  readonly dropped: number;
  readonly badLines: number;
}

type Lines = Iterable<string> | AsyncIterable<string>;

/** Repeats what the store did, in the order of its clock, and compares. Takes the recordings of all nodes, in segments. */
export async function replayRecordings(recordings: readonly Lines[]): Promise<RecordingReport> {
  const replay = new RecordingReplay();
  for (const lines of recordings) await replay.read(lines);
  return replay.run();
}

class RecordingReplay {
  #time = 0;
  readonly #clock: Clock = { now: () => this.#time, sleep: () => Promise.reject(new Error("a replay does not wait")) };
  readonly #store = new MemoryStore({ clock: this.#clock, maxKeys: Number.MAX_SAFE_INTEGER });
  /** The segments of each process, by number, with the latest time before each. */
  readonly #nodes = new Map<string, Map<number, number>>();
  /** The latest time in recordings of ended processes that others have deleted. */
  #deletedUntil: number | undefined;
  readonly #calls: PlacedCall[] = [];
  /** When a call of a key first went unanswered. */
  readonly #failedAt = new Map<string, number>();
  readonly #keys = new Set<string>();
  readonly #others = { lease: 0, cache: 0, fallback: 0 };
  /** Counters of keys that have been seen, and whether their content is known. */
  readonly #isKnown = new Map<string, boolean>();
  /** From when on they are blank if nothing else happens, according to the recorded answers. */
  readonly #blankFrom = new Map<string, number>();
  readonly #differences: RecordingDifference[] = [];
  readonly #counts = {
    decisions: 0,
    reproduced: 0,
    differing: 0,
    begunBefore: 0,
    uncertain: 0,
    incomplete: 0,
    dropped: 0,
    badLines: 0,
  };

  async read(lines: Lines): Promise<void> {
    let limits: RecordedLimit[] = [];
    let recording = 0;
    for await (const line of lines) {
      if (line === "") continue;
      const entry = readEntry(line);
      if (entry === undefined || (entry.type === "header" && entry.version !== RECORDING_VERSION)) {
        this.#counts.badLines += 1;
      } else if (entry.type === "header") {
        recording = this.#begin(entry);
        // Each segment has the limits that it refers to.
        limits = [];
      } else if (entry.type === "limit") limits[entry.number] = entry;
      else if (entry.type === "end") this.#counts.dropped += entry.dropped;
      else {
        this.#keys.add(entry.key);
        if (entry.type === "other") {
          if (entry.source !== "store") this.#others[entry.source] += 1;
        } else if (entry.type === "call") this.#calls.push({ ...entry, limits, recording });
        else this.#failedAt.set(entry.key, Math.min(entry.time, this.#failedAt.get(entry.key) ?? entry.time));
      }
    }
  }

  /** Notes a segment. Returns the index of its recording, which is the same for all segments of a process. */
  #begin({ node, continues = { segment: 0, after: 0 }, deletedUntil }: RecordingHeader): number {
    if (deletedUntil !== undefined) this.#deletedUntil = Math.max(deletedUntil, this.#deletedUntil ?? deletedUntil);
    const segments = this.#nodes.get(node) ?? new Map<number, number>();
    this.#nodes.set(node, segments.set(continues.segment, continues.after));
    return [...this.#nodes.keys()].indexOf(node);
  }

  run(): RecordingReport {
    const completeFrom = this.#completeFrom();
    const isComplete = ({ time }: PlacedCall): boolean => completeFrom === undefined || time > completeFrom;
    const same = sameRequests(this.#calls);
    const done = new Set<PlacedCall>();
    /** Requests whose first call was found. */
    const begun = new Set<readonly PlacedCall[]>();
    for (const call of inOrder(this.#calls)) {
      if (!isComplete(call)) {
        this.#counts.incomplete += call.operations.length;
        continue;
      }
      const request = same.get(call);
      if (request !== undefined && request.length > 1 && !begun.has(request)) {
        begun.add(request);
        // Processes that sent the same request may have had different limits. The others were told what the first was.
        const first = this.#agrees(call) ? call : (request.find((each) => this.#agrees(each)) ?? call);
        this.#replay(first);
        done.add(first);
      }
      if (!done.has(call)) this.#replay(call);
    }
    return {
      nodes: [...this.#nodes.keys()],
      keys: this.#keys.size,
      others: this.#others,
      differences: this.#differences,
      ...this.#counts,
      ...(completeFrom !== undefined && { completeFrom }),
    };
  }

  /** The latest time in segments that are missing. Undefined if none is. */
  #completeFrom(): number | undefined {
    const times: number[] = this.#deletedUntil === undefined ? [] : [this.#deletedUntil];
    for (const segments of this.#nodes.values()) {
      // The last one that does not follow on another.
      const first = [...segments.keys()].filter((number) => number > 0 && !segments.has(number - 1));
      const after = segments.get(Math.max(...first));
      if (after !== undefined) times.push(after);
    }
    return times.length === 0 ? undefined : Math.max(...times);
  }

  /** Whether the store would now give the answers of a call under its limits, as far as a peek can tell. */
  #agrees(call: PlacedCall): boolean {
    this.#time = call.time;
    const isCharged =
      call.action === "charge" ||
      (call.action === "take" && !call.deniedElsewhere && call.answers.every(({ allowed }) => allowed));
    const answers = this.#store.apply("peek", operationsOf(call));
    return answers.every(({ allowed, remaining }, i) => {
      const recorded = call.answers[i];
      const left = remaining - (isCharged ? call.operations[i].cost : 0);
      // Limits differ by whole units. Less is rounding: units were taken here in another order.
      return allowed === recorded.allowed && Math.abs(left - recorded.remaining) < 0.5;
    });
  }

  #replay(call: PlacedCall): void {
    const { time, key, action, idempotency, deniedElsewhere } = call;
    this.#time = time;
    const operations = operationsOf(call);
    const pairs = operations.map(({ rule, limit }) => JSON.stringify([key, rule.counter, limit?.algorithm]));
    for (const [i, pair] of pairs.entries()) {
      // What was used before the recording began does not count any more.
      if (this.#isKnown.get(pair) !== false || time < (this.#blankFrom.get(pair) ?? Number.POSITIVE_INFINITY)) continue;
      this.#store.apply("reset", [operations[i]]);
      this.#isKnown.set(pair, true);
    }
    const answers = this.#store.apply(
      action,
      deniedElsewhere ? [...operations, { rule: DENYING, key, cost: 2 }] : operations,
      idempotency && {
        idempotencyKey: idempotency.key,
        ...(idempotency.rememberFor !== undefined && { rememberFor: idempotency.rememberFor }),
      },
    );
    const compared = answers.slice(0, operations.length).map((answer, i): Compared => {
      const { allowed, remaining, retryAfter, resetAfter } = answer;
      const replayed = { allowed, remaining, retryAfter: Number.isFinite(retryAfter) ? retryAfter : null, resetAfter };
      return { pair: pairs[i], rule: operations[i].rule.name, recorded: call.answers[i], replayed };
    });
    this.#noteKnown(call, compared);
    for (const each of compared) this.#compare(call, each);
  }

  /** Notes which counters are known after a call. */
  #noteKnown({ time, action }: PlacedCall, compared: readonly Compared[]): void {
    for (const { pair, recorded, replayed } of compared) {
      this.#isKnown.set(pair, action === "reset" || (this.#isKnown.get(pair) ?? isSame(recorded, replayed)));
      this.#blankFrom.set(pair, Math.max(time + recorded.resetAfter, this.#blankFrom.get(pair) ?? 0));
    }
    // If a counter that is not known denies or admits the request here alone, the others are charged differently.
    const isUnknown = compared.some(({ pair }) => !this.#isKnown.get(pair));
    const hasOtherOutcome =
      compared.every(({ recorded }) => recorded.allowed) !== compared.every(({ replayed }) => replayed.allowed);
    if (action === "take" && isUnknown && hasOtherOutcome) {
      for (const { pair } of compared) this.#isKnown.set(pair, false);
    }
  }

  #compare({ time, key }: PlacedCall, { pair, rule, recorded, replayed }: Compared): void {
    this.#counts.decisions += 1;
    if (isSame(recorded, replayed)) this.#counts.reproduced += 1;
    else if ((this.#failedAt.get(key) ?? Number.POSITIVE_INFINITY) <= time) this.#counts.uncertain += 1;
    else if (!this.#isKnown.get(pair)) this.#counts.begunBefore += 1;
    else {
      this.#counts.differing += 1;
      if (this.#differences.length < MOST_LISTED) this.#differences.push({ time, key, rule, recorded, replayed });
    }
  }
}

function operationsOf({ key, operations, limits }: PlacedCall): readonly Operation[] {
  return operations.map(({ limit: number, cost }) => {
    const { rule: name, counter, limit } = limits[number];
    return { rule: { name, counter, limit }, key, cost, limit };
  });
}

/** The answer for one operation of a call. */
interface Compared {
  /** Its key and counter. */
  readonly pair: string;
  readonly rule: string;
  readonly recorded: RecordedAnswer;
  readonly replayed: RecordedAnswer;
}

function isSame(recorded: RecordedAnswer, replayed: RecordedAnswer): boolean {
  return (
    recorded.allowed === replayed.allowed &&
    recorded.remaining === replayed.remaining &&
    recorded.retryAfter === replayed.retryAfter &&
    recorded.resetAfter === replayed.resetAfter
  );
}
