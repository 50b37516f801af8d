import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** The next message of a process. Child processes end with this one, so none is left behind by a failure. */
export async function nextMessage(node: ChildProcess) {
  const gone = new AbortController();
  const ended = (code: number | null, signal: string | null) =>
    gone.abort(new Error(`a process ended with ${signal ?? code} and no figures`));
  node.once("exit", ended);
  try {
    const [said] = await once(node, "message", { signal: gone.signal });
    return said;
  } catch (error) {
    throw gone.signal.reason ?? error;
  } finally {
    node.off("exit", ended);
  }
}
