import { type ChildProcess, fork } from "node:child_process";

/** A Node process that runs a module and exchanges messages with this one. */
export class ForkedProcess {
  private readonly child: ChildProcess;
  /** Rejects when the process has ended. */
  private readonly ended: Promise<never>;

  /** The module runs with the built packages, not with their sources. */
  constructor(module: URL, args: readonly string[] = []) {
    this.child = fork(module, args, { serialization: "advanced", execArgv: [] });
    // Several callers may wait for messages at the same time.
    this.child.setMaxListeners(100);
    this.ended = new Promise((_, reject) => {
      this.child.once("exit", (code, signal) => reject(new Error(`${module.pathname} ended with ${signal ?? code}`)));
    });
    this.ended.catch(() => {});
  }

  send(message: object | string): void {
    if (this.child.connected) this.child.send(message);
  }

  onMessage<Message>(hear: (message: Message) => void): void {
    this.child.on("message", hear);
  }

  /** The next message, or the next one that is wanted. Rejects if the process ends first. */
  next<Message>(isWanted: (message: Message) => boolean = () => true): Promise<Message> {
    const message = new Promise<Message>((resolve) => {
      const hear = (said: Message): void => {
        if (!isWanted(said)) return;
        this.child.off("message", hear);
        resolve(said);
      };
      this.child.on("message", hear);
    });
    return Promise.race([message, this.ended]);
  }

  /** Freezes the process, as a machine that is busy with something else would. */
  pause(): void {
    this.child.kill("SIGSTOP");
  }

  resume(): void {
    this.child.kill("SIGCONT");
  }

  /** Ends the process at once, as a crash would. */
  kill(): void {
    this.child.kill("SIGKILL");
  }
}
