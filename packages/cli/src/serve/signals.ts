import { constants } from "node:os";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/** npm passes on a Ctrl-C that the terminal has sent to all of its programs already: that is one, not two. */
const ECHO_MS = 500;

/** Answers with the first signal that asks the process to end. The second one ends it at once. */
export function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | undefined;
    for (const signal of SIGNALS) {
      process.on(signal, () => {
        first ??= performance.now();
        if (performance.now() - first > ECHO_MS) process.exit(128 + constants.signals[signal]);
        resolve(signal);
      });
    }
  });
}
