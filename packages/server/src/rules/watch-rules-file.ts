import { readFile, stat } from "node:fs/promises";
import { parseAside } from "./parse-in-worker.ts";
import type { RuleInput } from "./rule.ts";

/** How often the file is looked at. It is read when two looks find it the same: not while it is being written. */
const LOOK_MS = 200;

/** A file of rules that is looked at. */
export interface RulesFileWatch {
  /** Reads the file now, whether or not the system says that it has changed. Answers when that is done. */
  reread(): Promise<void>;
  stop(): void;
}

/**
 * Tells of the rules of a file whenever they change, within half a second. `known` is the text that the caller has read
 * already: what has changed since is not missed, and what has not is not told. A file that cannot be used, or is not there,
 * changes nothing: `onError` is told why, once, and again whenever somebody asks for the file to be read. The file is not looked at again until `onRules` is done.
 *
 * It looks by itself, since what the system tells of changes is different for a file that is written, one that is put
 * in its place, a link that is turned and a folder on the network.
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
    // One at a time: two would race to be the last.
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

/** Differs whenever the file does, as far as the system knows. */
async function stateOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch (error) {
    return String(error);
  }
}
