import { fork } from "node:child_process";
import type { Task } from "../suite.ts";
import { type Answer, isAnswer } from "./messages.ts";

/** A million keys over the network take minutes while the machine is busy. */
const LONGEST_RUN_MS = 300_000;

export function runInChild(task: Task, launcher: readonly string[] = []): Promise<Answer> {
  const [execPath, ...execArgv] = [...launcher, process.execPath, "--expose-gc"];
  return new Promise((resolve) => {
    const child = fork(new URL("./child.js", import.meta.url), [JSON.stringify(task)], {
      execPath,
      execArgv,
      // Output of libraries must not mix with the figures on standard output.
      stdio: ["ignore", 2, 2, "ipc"],
      timeout: LONGEST_RUN_MS,
    });
    child.on("message", (message) => {
      if (isAnswer(message)) resolve(message);
    });
    child.on("error", (error) => resolve({ ok: false, message: error.message }));
    // After a message this has no effect, because the promise is settled.
    child.on("exit", (code, signal) => resolve({ ok: false, message: `ended with ${signal ?? code} and no answer` }));
  });
}
