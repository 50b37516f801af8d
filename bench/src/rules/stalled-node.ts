import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

export const ADMIN_KEY = `hg_${"a".repeat(16)}_${"b".repeat(43)}`;

/** Messages of the node's process. */
export type FromNode = { readonly url: string } | { readonly longestMs: number };

/** A node in another process, whose pauses are measured. */
export class StalledNode {
  private readonly child: ChildProcess;
  private readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.child = child;
    this.url = url;
  }

  /** `flags` are those of `headgate serve`. */
  static async start(flags: Readonly<Record<string, string>>): Promise<StalledNode> {
    const child = fork(new URL("./stall-process.js", import.meta.url), [JSON.stringify(flags)], {
      stdio: ["ignore", 2, 2, "ipc"],
    });
    const { url } = await answer(child, (message) => ("url" in message ? message : undefined));
    return new StalledNode(child, url);
  }

  /** The longest pause since the last call. */
  async longestMs(): Promise<number> {
    this.child.send("how long?");
    const { longestMs } = await answer(this.child, (message) => ("longestMs" in message ? message : undefined));
    return longestMs;
  }

  async ask(method: string, path: string, body: unknown): Promise<unknown> {
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
    const response = await fetch(`${this.url}/api/v1/${path}`, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }

  async close(): Promise<void> {
    const ended = once(this.child, "exit");
    this.child.kill();
    await ended;
  }
}

async function answer<Wanted>(child: ChildProcess, read: (message: FromNode) => Wanted | undefined): Promise<Wanted> {
  const ended = once(child, "exit").then(() => {
    throw new Error("the node has ended");
  });
  ended.catch(() => {});
  const [message] = await Promise.race([once(child, "message"), ended]);
  const wanted = read(message);
  if (wanted === undefined) throw new Error("the node said something else");
  return wanted;
}
