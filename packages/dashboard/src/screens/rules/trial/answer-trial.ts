import { slidingWindowLog } from "headgate";
import { candidateFields, limitOf } from "headgate-server/rule-lookup";
import { RecordedTraffic } from "headgate-simulator";
import type { RateLimitRule } from "../../../api/types.ts";
import type { Candidate, RecordingMessage, RecordingRequest } from "./recording-messages.ts";

type Limit = ReturnType<typeof limitOf>;

let loaded: { readonly rule: RateLimitRule; readonly traffic: RecordedTraffic } | undefined;

const tell = (message: RecordingMessage): void => postMessage(message);

/** In a worker: keeps the recorded requests of a rule, and decides them under other limits. */
export function answerTrial(request: RecordingRequest): void {
  if (request.kind === "load") load(request.rule, new RecordedTraffic(request.entries));
  else attempt(request.candidate);
}

function load(rule: RateLimitRule, traffic: RecordedTraffic): void {
  loaded = { rule, traffic };
  tell({ kind: "loaded", peaks: traffic.peaks(unlimited(rule)), inForce: traffic.replay(limitOf(rule)) });
}

function attempt(candidate: Candidate): void {
  if (loaded === undefined) return;
  const denials = loaded.traffic.replay(candidateLimit(loaded.rule, candidate));
  tell({ kind: "tried", candidate, denials });
}

/** As the service makes it. */
function candidateLimit(rule: RateLimitRule, candidate: Candidate): Limit {
  return limitOf(candidateFields({ ...rule, candidate }) ?? rule);
}

/** Counts in the windows of the rule and denies nothing. */
function unlimited(rule: RateLimitRule): Limit {
  const algorithm = rule.calendar === null ? slidingWindowLog("1/s").algorithm : null;
  return candidateLimit(rule, { limit: Number.MAX_SAFE_INTEGER, algorithm, burst: null, window_seconds: null });
}
