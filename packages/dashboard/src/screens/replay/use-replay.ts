import type { FilesReplay, KeyTimeline } from "headgate-simulator";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ReplayMessage, ReplayRequest } from "./replay-messages.ts";

export interface ReplayRun {
  readonly share: number | undefined;
  readonly result: FilesReplay | undefined;
  readonly timeline: KeyTimeline | undefined;
  readonly failure: string | undefined;
  readonly start: (request: ReplayRequest) => void;
  readonly stop: () => void;
  readonly closeTimeline: () => void;
}

const IDLE = { share: undefined, result: undefined, timeline: undefined, failure: undefined };

/** Runs replays in a worker, one at a time, so that the page stays responsive. */
export function useReplay(): ReplayRun {
  const worker = useRef<Worker | undefined>(undefined);
  const [state, setState] = useState<Omit<ReplayRun, "start" | "stop" | "closeTimeline">>(IDLE);

  const stop = (): void => {
    worker.current?.terminate();
    worker.current = undefined;
    setState((before) => ({ ...before, share: undefined }));
  };
  const start = (request: ReplayRequest): void => {
    worker.current?.terminate();
    const made = new Worker(new URL("../simulation-worker.ts", import.meta.url), { type: "module" });
    worker.current = made;
    setState((before) => ({
      ...before,
      ...(request.kind === "replay" && { result: undefined }),
      timeline: undefined,
      failure: undefined,
      share: 0,
    }));
    made.addEventListener("message", ({ data }: MessageEvent<ReplayMessage>) => {
      if (data.kind === "progress") setState((before) => ({ ...before, share: data.share }));
      else {
        setState((before) => ({ ...before, share: undefined, ...outcomeOf(data) }));
        made.terminate();
      }
    });
    made.addEventListener("error", () => {
      setState((before) => ({ ...before, share: undefined, failure: "The replay could not be started." }));
    });
    made.postMessage(request);
  };
  useEffect(() => () => worker.current?.terminate(), []);
  return { ...state, start, stop, closeTimeline: () => setState((before) => ({ ...before, timeline: undefined })) };
}

function outcomeOf(message: Exclude<ReplayMessage, { kind: "progress" }>): Partial<ReplayRun> {
  if (message.kind === "replayed") return { result: message.result };
  return message.kind === "timeline" ? { timeline: message.timeline } : { failure: message.message };
}
