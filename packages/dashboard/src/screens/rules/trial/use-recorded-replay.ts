import type { RecordedDenials } from "headgate-simulator";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RateLimitRule } from "../../../api/types.ts";
import type { Candidate, LoadedTraffic, RecordingMessage } from "./recording-messages.ts";
import type { Recording } from "./use-recording.ts";

export interface RecordedReplay {
  /** Undefined until the recorded requests have been decided under the limit in force. */
  readonly traffic: LoadedTraffic | undefined;
  /** Of the candidate that was decided last. */
  readonly denials: RecordedDenials | undefined;
  /** Whether a candidate is being decided. */
  readonly isBusy: boolean;
  readonly failure: string | undefined;
}

const IDLE: RecordedReplay = { traffic: undefined, denials: undefined, isBusy: false, failure: undefined };

/** Decides recorded requests under a candidate in a worker. While one is decided, only the latest one waits. */
export function useRecordedReplay(rule: RateLimitRule, recording: Recording, candidate: Candidate): RecordedReplay {
  const [state, setState] = useState(IDLE);
  const trial = useRef<LatestTrial | undefined>(undefined);

  useEffect(() => {
    setState(IDLE);
    if (recording.entries.length === 0) return undefined;
    const worker = new Worker(new URL("../../simulation-worker.ts", import.meta.url), { type: "module" });
    const latest = new LatestTrial((next) => worker.postMessage({ kind: "try", candidate: next }));
    trial.current = latest;
    worker.addEventListener("message", ({ data }: MessageEvent<RecordingMessage>) => {
      if (data.kind === "loaded") {
        setState((before) => ({ ...before, traffic: data }));
        latest.proceed();
      } else if (data.kind === "tried") {
        latest.proceed();
        setState((before) => ({ ...before, denials: data.denials, isBusy: latest.isBusy, failure: undefined }));
      } else {
        latest.proceed();
        setState((before) => ({ ...before, isBusy: latest.isBusy, failure: data.message }));
      }
    });
    worker.addEventListener("error", () => {
      setState((before) => ({ ...before, isBusy: false, failure: "The replay could not be started." }));
    });
    worker.postMessage({ kind: "load", rule, entries: recording.entries });
    return () => {
      worker.terminate();
      trial.current = undefined;
    };
  }, [rule, recording]);

  const { limit, burst, algorithm, window_seconds } = candidate;
  useEffect(() => {
    if (trial.current === undefined) return;
    setState((before) => ({ ...before, isBusy: true }));
    trial.current.ask({ limit, burst, algorithm, window_seconds });
  }, [rule, recording, limit, burst, algorithm, window_seconds]);

  return state;
}

/** Sends one candidate at a time, and after it only the latest of those that arrived in the meantime. */
class LatestTrial {
  readonly #send: (candidate: Candidate) => void;
  #waiting: Candidate | undefined;
  /** True from the start: the worker loads first. */
  isBusy = true;

  constructor(send: (candidate: Candidate) => void) {
    this.#send = send;
  }

  ask(candidate: Candidate): void {
    if (this.isBusy) this.#waiting = candidate;
    else {
      this.isBusy = true;
      this.#send(candidate);
    }
  }

  proceed(): void {
    const next = this.#waiting;
    this.#waiting = undefined;
    this.isBusy = next !== undefined;
    if (next !== undefined) this.#send(next);
  }
}
