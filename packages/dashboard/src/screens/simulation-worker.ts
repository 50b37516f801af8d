import { answerReplay } from "./replay/answer-replay.ts";
import type { ReplayRequest } from "./replay/replay-messages.ts";
import { answerTrial } from "./rules/trial/answer-trial.ts";
import type { RecordingRequest } from "./rules/trial/recording-messages.ts";

// One worker for all screens, so that the page has the algorithms only twice.
addEventListener("message", async ({ data }: MessageEvent<ReplayRequest | RecordingRequest>) => {
  try {
    if (data.kind === "load" || data.kind === "try") answerTrial(data);
    else await answerReplay(data);
  } catch (error) {
    postMessage({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  }
});
