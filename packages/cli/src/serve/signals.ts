import { constants } from "node:os";
import { isatty } from "node:tty";

const STOPPING = ["SIGTERM", "SIGINT", "SIGQUIT"] as const;
/** By default, SIGUSR1 opens the inspector to all users of the machine, and SIGUSR2 ends the process. */
const IGNORED = ["SIGUSR1"] as const;

/** npm forwards a Ctrl-C that the terminal has already sent to the process. Within this time, the two count as one. */
const ECHO_MS = 500;

const STDERR = 2;

export interface Signals {
  /** Resolves with the first signal that asks the process to end. The second one ends it immediately. */
  readonly stop: Promise<NodeJS.Signals>;
  /** Calls `reload` for each SIGHUP from now on. */
  onReload(reload: () => void): void;
  /** Calls `restart` for each SIGUSR2 from now on. */
  onRestart(restart: () => void): void;
}

/** Installs signal handlers, so that no signal ends the process without draining. */
export function handleSignals(): Signals {
  const hadTerminal = isatty(STDERR);
  let reload = (): void => {};
  let restart = (): void => {};
  process.on("SIGUSR2", () => restart());
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
      // The terminal was closed, so the process can no longer be seen or stopped.
      if (hadTerminal && !isatty(STDERR)) stopBy("SIGHUP");
      else reload();
    });
  });
  return {
    stop,
    onReload(then) {
      reload = then;
    },
    onRestart(then) {
      restart = then;
    },
  };
}
