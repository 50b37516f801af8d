import { randomBytes } from "node:crypto";
import { HeadgateError } from "headgate";
import type { Settings } from "../config/settings.ts";
import type { Log } from "../runtime/log.ts";
import { RecordedRequests } from "./recorded-requests.ts";
import { Recorder } from "./recorder.ts";
import { RecordingFile } from "./recording-file.ts";

type RecordingSettings = Pick<Settings, "record" | "recordOneIn" | "recordMaxMb" | "recordSecret">;

/** A recorder with its files, and a reader of all recordings of the node. */
export interface OpenRecorder {
  readonly recorder: Recorder;
  readonly requests: RecordedRequests;
  close(): Promise<void>;
}

const SHORTEST_SECRET = 16;

/** Starts to record, if the settings say so. Each process of a node writes files of its own. */
export async function openRecorder(
  settings: RecordingSettings,
  log: Log,
  processes: number,
): Promise<OpenRecorder | undefined> {
  const { record: folder, recordOneIn: oneIn, recordMaxMb, recordSecret: secret } = settings;
  if (folder === undefined) return undefined;
  if (secret === undefined || secret.length < SHORTEST_SECRET) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "HEADGATE_RECORD_SECRET",
      `must have at least ${SHORTEST_SECRET} characters when record is set; use the same on all nodes`,
    );
  }
  const node = `${new Date().toISOString().replace(/[-:]|\.\d+/g, "")}-${process.pid}-${randomBytes(4).toString("hex")}`;
  const onFailure = (err: Error): void => {
    log.warn({ err, folder, node }, "the recording cannot be written: it ends here");
  };
  const maxBytes = recordMaxMb * 1024 * 1024;
  const file = await RecordingFile.create({ folder, node, maxBytes, processes, onFailure });
  const recorder = new Recorder({ node, oneIn, secret, add: (entry) => file.add(entry), now: () => Date.now() * 1000 });
  // From the start, the folder is not too large.
  await file.written();
  log.info({ folder, node, one_in: oneIn }, "recording decisions");
  return { recorder, requests: new RecordedRequests(folder), close: () => file.close() };
}
