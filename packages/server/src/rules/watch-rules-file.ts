import { readFile, stat } from "node:fs/promises";
import type { RuleInput } from "./rule.ts";
import { parseRules } from "./rules-file.ts";

/** How often the file is looked at. It is read when two looks find it the same: not while it is being written. */
const LOOK_MS = 200;

/**
 * Tells of the rules of a file whenever they change, within half a second. It tells of those at the start too, so that
 * what changed between the caller's own reading and this is not missed. A file that cannot be used, or is not there,
 * changes nothing: `onError` is told once why. Returns how to stop.
 *
 * It looks by itself, since what the system tells of changes is different for a file that is written, one that is put
 * in its place, a link that is turned and a folder on the network.
 */
export function watchRulesFile(
  path: string,
  onRules: (rules: readonly RuleInput[]) => void,
  onError: (error: unknown) => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let seen = "";
  let read = "";
  let told: string | undefined;
  let complaint = "";

  const reread = async (): Promise<void> => {
    try {
      const text = await readFile(path, "utf8");
      if (isStopped || (text === told && complaint === "")) return;
      const rules = parseRules(text, path);
      told = text;
      complaint = "";
      onRules(rules);
    } catch (error) {
      if (isStopped || String(error) === complaint) return;
      complaint = String(error);
      onError(error);
    }
  };

  const look = async (): Promise<void> => {
    const state = await stateOf(path);
    if (state === seen && state !== read) {
      read = state;
      await reread();
    }
    seen = state;
    if (!isStopped) timer = setTimeout(look, LOOK_MS).unref();
  };

  void look();
  return () => {
    isStopped = true;
    clearTimeout(timer);
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
