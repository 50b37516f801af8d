import { Replay, type ReplayOptions } from "../replay/replay.ts";
import type { RulesFor } from "../replay/traffic-request.ts";
import type { NamedBlob } from "./open-file.ts";
import { type FilesOptions, readFiles } from "./replay-files.ts";

/** One decided request of a key. */
export interface TimelineEntry {
  /** In microseconds since the epoch. */
  readonly time: number;
  readonly allowed: boolean;
  /** Under each enforced rule. */
  readonly rules: readonly {
    readonly allowed: boolean;
    readonly remaining: number;
    /** In microseconds; 0 if it is allowed. */
    readonly retryAfter: number;
  }[];
}

export interface KeyTimeline {
  readonly key: string;
  readonly entries: readonly TimelineEntry[];
  /** Number of requests after those listed. */
  readonly more: number;
}

const MOST_ENTRIES = 10_000;

/** The requests of one key in log files, and how they were decided. Keys are independent, so all others are left out. */
export async function keyTimeline(
  files: readonly NamedBlob[],
  rulesFor: RulesFor,
  key: string,
  options: FilesOptions & Pick<ReplayOptions, "latenessMs"> = {},
): Promise<KeyTimeline> {
  const entries: TimelineEntry[] = [];
  let more = 0;
  const replay = new Replay(rulesFor, {
    latenessMs: options.latenessMs,
    onReplayed: (time, _, allowed, answers) => {
      if (entries.length === MOST_ENTRIES) more += 1;
      else {
        const rules = answers.map(({ allowed, remaining, retryAfter }) => ({ allowed, remaining, retryAfter }));
        entries.push({ time, allowed, rules });
      }
    },
  });
  await readFiles(files, options, (request) => {
    if (request.key === key) replay.add(request);
  });
  replay.finish();
  return { key, entries, more };
}
