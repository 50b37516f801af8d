import { readFile, stat } from "node:fs/promises";
import { parseAside } from "./parse-in-worker.ts";
import type { RuleInput } from "./rule.ts";

/**
 * How often to look at the file. It is read after two looks find it unchanged, and so not while it is being written.
 */
const LOOK_MS = 200;

/** A watched rules file. */
export interface RulesFileWatch {
  /** Reads the file now, even if it does not seem to have changed. Resolves when that is done. */
  reread(): Promise<void>;
  stop(): void;
}

/**
 * Reports the rules of a file whenever they change, within half a second. `known` is the text that the caller has
 * already read, so that no change since is missed. A file that is invalid or missing changes nothing: `onError` is
 * called once, and again for each requested read. The file is not read again until `onRules` is done.
 *
 * It polls, because file system events differ for a file that is written, one that is replaced, a link that is
 * repointed, and a network folder.
 */
export function watchRulesFile(
  path: string,
  onRules: (rules: readonly RuleInput[]) => unknown,
  onError: (error: unknown) => void,
  known?: string,
): RulesFileWatch {
  let reading: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const stopping = new AbortController();
  let seen = "";
  let lastRead = "";
  let told = known;
  let complaint = "";

  const read = (isAskedFor: boolean): Promise<void> => {
    // One at a time: otherwise two reads would race.
    reading = reading.then(() => readNow(isAskedFor));
    return reading;
  };

  const readNow = async (isAskedFor: boolean): Promise<void> => {
    try {
      const text = await readFile(path, "utf8");
      if (stopping.signal.aborted || (text === told && complaint === "")) return;
      const rules = await parseAside(text, path, stopping.signal);
      told = text;
      complaint = "";
      await onRules(rules);
    } catch (error) {
      if (stopping.signal.aborted || (String(error) === complaint && !isAskedFor)) return;
      complaint = String(error);
      onError(error);
    }
  };

  const look = async (): Promise<void> => {
    const state = await stateOf(path);
    if (state === seen && state !== lastRead) {
      lastRead = state;
      await read(false);
    }
    seen = state;
    if (!stopping.signal.aborted) timer = setTimeout(look, LOOK_MS).unref();
  };

  void look();
  return {
    reread: () => read(true),
    stop() {
      stopping.abort();
      clearTimeout(timer);
    },
  };
}

/** Changes whenever the file does, as far as the system reports. */
async function stateOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch (error) {
    return String(error);
  }
}
