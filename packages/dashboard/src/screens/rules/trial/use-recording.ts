import type { RecordedRequest } from "headgate-simulator";
import { api } from "../../../api/client.ts";
import { recordedRequest } from "../../../api/recorded-request.ts";
import type { RecordingPage } from "../../../api/types.ts";
import { type Loaded, useLoaded } from "../../../api/use-loaded.ts";

/** Enough for a picture of the traffic, and few enough to be decided again while the limit is dragged. */
const MOST_REQUESTS = 50_000;
/** Recordings may contain few requests of the rule; the service reads a few megabytes of each. */
const MOST_PAGES = 40;
const PAGE = 5_000;

export interface Recording {
  readonly isOn: boolean;
  /** One in this many identities is recorded. */
  readonly oneIn: number;
  readonly processes: number;
  readonly entries: readonly RecordedRequest[];
  /** Whether there are earlier requests, which were not loaded, or deleted. */
  readonly hasMore: boolean;
}

/** The latest recorded requests of a rule. */
export function useRecording(ruleId: string): Loaded<Recording> {
  return useLoaded((signal) => loadRecording(ruleId, signal), [ruleId]);
}

async function loadRecording(ruleId: string, signal: AbortSignal): Promise<Recording> {
  const entries: RecordedRequest[] = [];
  let page: RecordingPage | undefined;
  let pages = 0;
  do {
    const query = new URLSearchParams({ limit: String(PAGE), ...(page?.next && { cursor: page.next }) });
    page = await api.get<RecordingPage>(`/api/v1/rules/${encodeURIComponent(ruleId)}/recording?${query}`, signal);
    entries.push(...page.requests.map(recordedRequest));
    pages += 1;
  } while (page.next !== undefined && entries.length < MOST_REQUESTS && pages < MOST_PAGES);
  const { recording, one_in = 1, processes, next, complete_from_ms } = page;
  // Before that time, requests of some processes are missing.
  const from = (complete_from_ms ?? 0) * 1000;
  return {
    isOn: recording,
    oneIn: one_in,
    processes,
    entries: entries.filter(({ time }) => time > from),
    hasMore: next !== undefined || complete_from_ms !== undefined,
  };
}
