import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { onCore } from "./cores.ts";
import type { FromServer } from "./serving.ts";

const SERVER_CORE = 0;

/** A server in another process. */
export interface Served {
  readonly port: number;
  /** CPU time of the process so far. */
  processorMs(): Promise<number>;
  close(): Promise<void>;
}

/** Starts a program that uses `serving.ts`, with a command prefix that determines where it runs. */
export async function startServed(
  program: URL,
  args: readonly string[],
  launcher: readonly string[] = onCore(SERVER_CORE),
): Promise<Served> {
  const [execPath, ...execArgv] = [...launcher, process.execPath];
  const child = fork(program, args, {
    execPath,
    execArgv,
    env: { ...process.env, NODE_ENV: "production" },
    stdio: ["ignore", 2, 2, "ipc"],
  });
  const { port } = await answer(child, (message) => ("port" in message ? message : undefined));
  return {
    port,
    async processorMs() {
      child.send("how much?");
      const { processorMs } = await answer(child, (message) => ("processorMs" in message ? message : undefined));
      return processorMs;
    },
    async close() {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    },
  };
}

function answer<Wanted>(child: ChildProcess, read: (message: FromServer) => Wanted | undefined): Promise<Wanted> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error("the server has ended"));
    child.once("exit", ended);
    child.once("message", (message: FromServer) => {
      child.off("exit", ended);
      const wanted = read(message);
      if (wanted === undefined) reject(new Error("the server said something else"));
      else resolve(wanted);
    });
  });
}
