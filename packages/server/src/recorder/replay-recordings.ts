import { type Clock, MemoryStore, type Operation, type Source, tokenBucket } from "headgate";
import { inOrder, type PlacedCall } from "./call-order.ts";
import { RECORDING_VERSION, type RecordedAnswer, type RecordedLimit, readEntry } from "./recording-entry.ts";

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
  /** Entries that were not recorded, and lines that could not be read. */
  readonly dropped: number;
  readonly badLines: number;
}

type Lines = Iterable<string> | AsyncIterable<string>;

/** Does again what the store did, in the order of its clock, and compares. Takes the recordings of all nodes. */
export async function replayRecordings(recordings: readonly Lines[]): Promise<RecordingReport> {
  const replay = new RecordingReplay();
  for (const [recording, lines] of recordings.entries()) await replay.read(lines, recording);
  return replay.run();
}

class RecordingReplay {
  #time = 0;
  readonly #clock: Clock = { now: () => this.#time, sleep: () => Promise.reject(new Error("a replay does not wait")) };
  readonly #store = new MemoryStore({ clock: this.#clock, maxKeys: Number.MAX_SAFE_INTEGER });
  readonly #nodes: string[] = [];
  readonly #calls: PlacedCall[] = [];
  /** When a call of a key first went unanswered. */
  readonly #failedAt = new Map<string, number>();
  readonly #keys = new Set<string>();
  readonly #others = { lease: 0, cache: 0, fallback: 0 };
  /** Counters of keys that have been seen, and whether their content is known. */
  readonly #isKnown = new Map<string, boolean>();
  readonly #differences: RecordingDifference[] = [];
  readonly #counts = {
    decisions: 0,
    reproduced: 0,
    differing: 0,
    begunBefore: 0,
    uncertain: 0,
    dropped: 0,
    badLines: 0,
  };

  async read(lines: Lines, recording: number): Promise<void> {
    const limits: RecordedLimit[] = [];
    for await (const line of lines) {
      if (line === "") continue;
      const entry = readEntry(line);
      if (entry === undefined || (entry.type === "header" && entry.version !== RECORDING_VERSION)) {
        this.#counts.badLines += 1;
      } else if (entry.type === "header") this.#nodes.push(entry.node);
      else if (entry.type === "limit") limits[entry.number] = entry;
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

  run(): RecordingReport {
    for (const call of inOrder(this.#calls)) this.#replay(call);
    return {
      nodes: this.#nodes,
      keys: this.#keys.size,
      others: this.#others,
      differences: this.#differences,
      ...this.#counts,
    };
  }

  #replay(call: PlacedCall): void {
    const { time, key, action, idempotency, limits, deniedElsewhere } = call;
    this.#time = time;
    const operations = call.operations.map(({ limit: number, cost }): Operation => {
      const { rule: name, counter, limit } = limits[number];
      return { rule: { name, counter, limit }, key, cost, limit };
    });
    const answers = this.#store.apply(
      action,
      deniedElsewhere ? [...operations, { rule: DENYING, key, cost: 2 }] : operations,
      idempotency && {
        idempotencyKey: idempotency.key,
        ...(idempotency.rememberFor !== undefined && { rememberFor: idempotency.rememberFor }),
      },
    );
    for (const [i, { rule, limit = rule.limit }] of operations.entries()) {
      const { allowed, remaining, retryAfter, resetAfter } = answers[i];
      const replayed = { allowed, remaining, retryAfter: Number.isFinite(retryAfter) ? retryAfter : null, resetAfter };
      const pair = JSON.stringify([key, rule.counter, limit.algorithm]);
      this.#compare(call, pair, rule.name, call.answers[i], replayed);
    }
  }

  #compare(call: PlacedCall, pair: string, rule: string, recorded: RecordedAnswer, replayed: RecordedAnswer): void {
    const { time, key, action } = call;
    this.#counts.decisions += 1;
    const isSame =
      recorded.allowed === replayed.allowed &&
      recorded.remaining === replayed.remaining &&
      recorded.retryAfter === replayed.retryAfter &&
      recorded.resetAfter === replayed.resetAfter;
    const isKnown = action === "reset" || (this.#isKnown.get(pair) ?? isSame);
    this.#isKnown.set(pair, isKnown);
    if (isSame) this.#counts.reproduced += 1;
    else if ((this.#failedAt.get(key) ?? Number.POSITIVE_INFINITY) <= time) this.#counts.uncertain += 1;
    else if (!isKnown) this.#counts.begunBefore += 1;
    else {
      this.#counts.differing += 1;
      if (this.#differences.length < MOST_LISTED) this.#differences.push({ time, key, rule, recorded, replayed });
    }
  }
}
