import type { RecordedLevel, RecordedRequest } from "headgate-simulator";
import { useEffect, useState } from "preact/hooks";
import { api } from "../../api/client.ts";
import { recordedRequest } from "../../api/recorded-request.ts";
import type { Explanation, LimitAnswer, RateLimitRule, RecordingPage } from "../../api/types.ts";
import { allLimits, type EarlierLevel, HISTORY_MS } from "./level-history.ts";
import type { LevelsMessage, LevelsRequest } from "./levels-before.ts";

/** The service writes what it records after this time at the latest. */
const WRITTEN_MS = 500;
const MOST_PAGES = 8;
const PAGE = 5_000;

/** The levels of a limit before the screen was opened, and where they come from, or why there are none. */
export interface Earlier {
  readonly limit: LimitAnswer;
  readonly levels: readonly EarlierLevel[];
  readonly note: string;
}

/** The levels of all limits before the first explanation. Empty until they are known. */
export function useEarlier(identifier: string, explanation: Explanation | undefined): readonly Earlier[] {
  const [earlier, setEarlier] = useState<readonly Earlier[]>([]);
  const isExplained = explanation !== undefined;
  useEffect(() => {
    if (explanation === undefined) return undefined;
    const leaving = new AbortController();
    earlierLevels(identifier, allLimits(explanation), Date.now(), leaving.signal).then((found) => {
      if (!leaving.signal.aborted) setEarlier(found);
    });
    return () => leaving.abort();
  }, [identifier, isExplained]);
  return earlier;
}

/** Calculates them from the recorded requests of an identity. `at` is when the service answered. */
async function earlierLevels(
  identifier: string,
  limits: readonly LimitAnswer[],
  at: number,
  signal: AbortSignal,
): Promise<readonly Earlier[]> {
  await new Promise((resolve) => setTimeout(resolve, WRITTEN_MS));
  return Promise.all(
    limits.map(async (limit) => {
      const none = (why: string): Earlier => {
        return { limit, levels: [], note: `Levels are shown since the screen was opened: ${why}.` };
      };
      // Leases and caches keep count themselves, and candidates are not recorded.
      if (limit.candidate || limit.source !== "store") return none("earlier ones are not recorded for this limit");
      try {
        return await earlierOf(identifier, limit, at, signal, none);
      } catch {
        return none("the recording cannot be read");
      }
    }),
  );
}

async function earlierOf(
  identifier: string,
  limit: LimitAnswer,
  at: number,
  signal: AbortSignal,
  none: (why: string) => Earlier,
): Promise<Earlier> {
  const path = `/api/v1/rules/${encodeURIComponent(limit.rule_id)}`;
  const entries: RecordedRequest[] = [];
  // What was used in the window before still counts.
  const backMs = HISTORY_MS + limit.window_seconds * 1000;
  // What to add to a time here for that of the service.
  let ahead: number | undefined;
  let completeFrom: number | undefined;
  let next: string | undefined;
  let pages = 0;
  do {
    const query = new URLSearchParams({ identifier, limit: String(PAGE), ...(next && { cursor: next }) });
    const page = await api.get<RecordingPage>(`${path}/recording?${query}`, signal);
    if (!page.recording) return none("this node does not record");
    if (page.recorded === false) return none(`one in ${page.one_in} identities is recorded, and this one is not`);
    ahead ??= page.now_ms - Date.now();
    entries.push(...page.requests.map(recordedRequest));
    ({ next, complete_from_ms: completeFrom } = page);
    pages += 1;
  } while (
    next !== undefined &&
    pages < MOST_PAGES &&
    (completeFrom ?? Number.POSITIVE_INFINITY) > at + ahead - backMs
  );

  if (entries.length === 0) return none("no earlier requests are recorded");
  const { burst, origin, current_count } = limit;
  const rule = await api.get<RateLimitRule>(path, signal);
  const from = (completeFrom ?? 0) * 1000;
  const levels = await calculated({
    kind: "levels",
    rule,
    now: { limit: limit.limit, burst, origin, current_count },
    at: at + ahead,
    // Those of one moment in the order in which they were decided.
    entries: entries.filter(({ time }) => time > from).reverse(),
  });
  if (levels === undefined) return none("the recording of this node does not have all requests from before");
  const offset = ahead;
  return {
    limit,
    levels: levels.map(({ time, used }) => ({ at: time / 1000 - offset, used })),
    note: "Levels from before the screen was opened are those of recorded requests.",
  };
}

function calculated(request: LevelsRequest): Promise<readonly RecordedLevel[] | undefined> {
  const worker = new Worker(new URL("../simulation-worker.ts", import.meta.url), { type: "module" });
  return new Promise<readonly RecordedLevel[] | undefined>((resolve, reject) => {
    worker.addEventListener("message", ({ data }: MessageEvent<LevelsMessage>) => {
      if (data.kind === "levels") resolve(data.levels);
      else reject(new Error(data.message));
    });
    worker.addEventListener("error", () => reject(new Error("The calculation could not be started.")));
    worker.postMessage(request);
  }).finally(() => worker.terminate());
}
