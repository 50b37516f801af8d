import { answerReplay } from "./replay/answer-replay.ts";
import type { ReplayRequest } from "./replay/replay-messages.ts";
import { answerTrial } from "./rules/trial/answer-trial.ts";
import type { RecordingRequest } from "./rules/trial/recording-messages.ts";
import { type LevelsRequest, levelsBefore } from "./why/levels-before.ts";

// One worker for all screens, so that the page has the algorithms only twice.
addEventListener("message", async ({ data }: MessageEvent<ReplayRequest | RecordingRequest | LevelsRequest>) => {
  try {
    if (data.kind === "load" || data.kind === "try") answerTrial(data);
    else if (data.kind === "levels") postMessage({ kind: "levels", levels: levelsBefore(data) });
    else await answerReplay(data);
  } catch (error) {
    postMessage({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
  }
});
