import type { RuleInput } from "headgate-server";
import { ruleLookup } from "headgate-server/rule-lookup";
import { addressKey, type FilesOptions, keyTimeline, type RulesFor, replayFiles } from "headgate-simulator";
import type { Dimension } from "../../api/types.ts";
import type { ReplayMessage, ReplayRequest } from "./replay-messages.ts";

/** How far lines may be out of order. */
const LATENESS_MS = 5_000;
const TOP = 20;
const PROGRESS_EVERY_MS = 100;

const tell = (message: ReplayMessage): void => postMessage(message);

/** In a worker: replays log files, or shows the requests of one key in them. */
export async function answerReplay(request: ReplayRequest): Promise<void> {
  const { files, dimension, keyField, rules } = request;
  const options: FilesOptions = {
    ...(keyField !== "" && { key: keyField }),
    ...(dimension === "ip" && { keyOf: addressKey }),
    onProgress: throttled((bytes, size) => tell({ kind: "progress", share: size === 0 ? 1 : bytes / size })),
  };
  if (request.kind === "timeline") {
    const timeline = await keyTimeline(files, rulesFor(rules, dimension), request.key, {
      ...options,
      latenessMs: LATENESS_MS,
    });
    tell({ kind: "timeline", timeline });
    return;
  }
  const result = await replayFiles(files, rulesFor(rules, dimension), {
    ...options,
    latenessMs: LATENESS_MS,
    top: TOP,
    ...(request.proposed !== undefined && { against: rulesFor(request.proposed, dimension) }),
  });
  tell({ kind: "replayed", result });
}

/** The lookup of the service, for keys without stored data. */
function rulesFor(rules: readonly RuleInput[], dimension: Dimension): RulesFor {
  const find = ruleLookup(rules, dimension);
  return ({ path, method, key }) => find(path, method === "" ? undefined : method, key);
}

function throttled(call: (bytes: number, size: number) => void): (bytes: number, size: number) => void {
  let last = 0;
  return (bytes, size) => {
    const now = performance.now();
    if (now - last < PROGRESS_EVERY_MS) return;
    last = now;
    call(bytes, size);
  };
}
