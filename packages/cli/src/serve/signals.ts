import { constants } from "node:os";
import { isatty } from "node:tty";

const STOPPING = ["SIGTERM", "SIGINT", "SIGQUIT"] as const;
/** Left alone, the first would open the inspector for anybody on this machine, and the second would end the process. */
const IGNORED = ["SIGUSR1", "SIGUSR2"] as const;

/** npm passes on a Ctrl-C that the terminal has sent to all of its programs already: that is one, not two. */
const ECHO_MS = 500;

const STDERR = 2;

export interface Signals {
  /** The first signal that asks the process to end. The second one ends it at once. */
  readonly stop: Promise<NodeJS.Signals>;
  /** Told of each SIGHUP from now on. */
  onReload(reload: () => void): void;
}

/** Takes over the signals of the process: none of them ends it without draining. */
export function handleSignals(): Signals {
  const hadTerminal = isatty(STDERR);
  let reload = (): void => {};
  for (const signal of IGNORED) process.on(signal, () => {});
  const stop = new Promise<NodeJS.Signals>((resolve) => {
    let first: number | undefined;
    const stopBy = (signal: NodeJS.Signals): void => {
      first ??= performance.now();
      if (performance.now() - first > ECHO_MS) process.exit(128 + constants.signals[signal]);
      resolve(signal);
    };
    for (const signal of STOPPING) process.on(signal, () => stopBy(signal));
    process.on("SIGHUP", () => {
      // The terminal has been closed, and nobody can see or stop the process any more.
      if (hadTerminal && !isatty(STDERR)) stopBy("SIGHUP");
      else reload();
    });
  });
  return {
    stop,
    onReload(then) {
      reload = then;
    },
  };
}
