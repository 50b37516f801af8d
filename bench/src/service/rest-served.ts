import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { onCore } from "../run/cores.ts";
import { FLOOR } from "../suite.ts";

export const ECHO = `${FLOOR}JSON echo of bare fastify`;

const SERVER_CORE = 0;

/** What the server's process says. */
export type FromService = { readonly port: number } | { readonly processorMs: number };

/** A server in another process. */
export interface ServedRest {
  readonly port: number;
  /** All that its process has used of the processors so far. */
  processorMs(): Promise<number>;
  close(): Promise<void>;
}

export async function serveRest(subject: string): Promise<ServedRest> {
  const [execPath, ...execArgv] = [...onCore(SERVER_CORE), process.execPath];
  const child = fork(new URL("./rest-process.js", import.meta.url), [subject], {
    execPath,
    execArgv,
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", 2, 2, "ipc"],
  });
  return {
    port: await answer(child, "port"),
    processorMs: () => {
      child.send("how much?");
      return answer(child, "processorMs");
    },
    async close() {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    },
  };
}

function answer(child: ChildProcess, name: "port" | "processorMs"): Promise<number> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error("the server has ended"));
    child.once("exit", ended);
    child.once("message", (message: Readonly<Partial<Record<string, number>>>) => {
      child.off("exit", ended);
      const figure = message[name];
      if (figure === undefined) reject(new Error("the server said something else"));
      else resolve(figure);
    });
  });
}
