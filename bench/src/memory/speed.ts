import { undisturbedNow } from "../run/undisturbed-time.ts";
import { loadSubject } from "../subjects/registry.ts";
import type { Checker, SyncChecker } from "../subjects/subject.ts";
import { type Figures, FLOOR, type Task } from "../suite.ts";
import { KeyStrings } from "../traffic/key-strings.ts";
import { SEQUENCE_LENGTH, uniformSequence, zipfSequence } from "../traffic/sequences.ts";
import {
  batchedKeys,
  freshKeys,
  type KeyFlow,
  type Rate,
  rate,
  rateAwaited,
  type Stretch,
  storedKeys,
} from "./loops.ts";

const WINDOW_MS = 600_000;
const PLENTY = 1_000_000_000;
/** Long enough for the compiler, even if it shares a core. */
const LEAST_WARM_UP_MS = 200;
const WARM_UP_STEP_MS = 50;

interface Traffic {
  readonly keys: number;
  readonly limit: number;
  readonly fresh: boolean;
  readonly way: "one by one" | "kept" | "batched";
  sequence(): Uint32Array;
}

const ONE_BY_ONE = { limit: PLENTY, fresh: false, way: "one by one" } as const;
const hot = { ...ONE_BY_ONE, keys: 1, sequence: () => new Uint32Array(SEQUENCE_LENGTH) };
const uniform = { ...ONE_BY_ONE, keys: 100_000, sequence: () => uniformSequence(100_000) };

const traffics: Readonly<Record<string, Traffic>> = {
  hot,
  "hot-kept": { ...hot, way: "kept" },
  "hot-deny": { ...hot, limit: 10 },
  "100k": uniform,
  "100k-batch": { ...uniform, way: "batched" },
  "1m-zipf": { ...ONE_BY_ONE, keys: 1_000_000, sequence: () => zipfSequence(1_000_000) },
  fresh: { ...uniform, fresh: true },
};

export async function measureSpeed({ experiment, subject, timedMs }: Task): Promise<Figures> {
  const traffic = traffics[experiment];
  const strings = new KeyStrings(traffic.keys);
  const keys = Array.from({ length: traffic.keys }, (_, i) => strings.make(i));
  const sequence = traffic.sequence();
  const makeChecker = await loadSubject(subject);
  const checker = makeChecker({ limit: traffic.limit, windowMs: WINDOW_MS, maxKeys: traffic.keys + 1024 });
  await insert(checker, keys);

  const run = runner(checker, traffic, { keys, sequence, strings: traffic.fresh ? strings : undefined, at: 0 });
  const warm = undisturbedNow() + Math.max(LEAST_WARM_UP_MS, timedMs / 2);
  while (undisturbedNow() < warm) await run(WARM_UP_STEP_MS);
  const { perSecond, allowedShare } = await run(timedMs);
  requireDecisions(subject, allowedShare, traffic.limit === PLENTY ? 1 : 0);
  return { [experiment]: perSecond / 1e6 };
}

function runner(checker: Checker, traffic: Traffic, flow: KeyFlow): (ms: number) => Promise<Rate> {
  if (checker.kind === "async") return (ms) => rateAwaited(checker, flow, ms);
  const stretch = stretchOf(checker, traffic, flow);
  return async (ms) => rate(stretch, flow, ms);
}

function stretchOf(checker: SyncChecker, traffic: Traffic, flow: KeyFlow): Stretch {
  if (flow.strings !== undefined) return freshKeys(checker.check, flow.strings, flow);
  if (traffic.way === "one by one") return storedKeys(checker.check, flow);
  const { checkAndKeep, checkMany } = checker;
  if (traffic.way === "kept" && checkAndKeep !== undefined) return storedKeys(checkAndKeep, flow);
  if (traffic.way === "batched" && checkMany !== undefined) return batchedKeys(checkMany, flow);
  throw new Error(`cannot be asked this way: ${traffic.way}`);
}

/** In key order, before the measurement. */
async function insert(checker: Checker, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    if (checker.kind === "sync") checker.check(key);
    else await checker.check(key);
  }
}

/** A limiter that decides incorrectly is not fast. Floors may decide anything. */
function requireDecisions(subject: string, allowedShare: number, expected: number): void {
  if (subject.startsWith(FLOOR) || allowedShare === expected) return;
  throw new Error(`allowed ${(100 * allowedShare).toFixed(2)}% of the checks, not ${100 * expected}%`);
}
