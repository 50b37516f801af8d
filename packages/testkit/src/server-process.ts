import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnChild } from "./child-process.ts";

/** A real server on a loopback port, with a temporary folder. */
export abstract class ServerProcess {
  readonly port: number;
  readonly dir: string;
  /** Everything that the server has printed. */
  log = "";
  /** After which event the process has ended and printed everything. */
  protected readonly ending: "close" | "exit" = "close";
  protected readonly name: string;
  private readonly ownsDir: boolean;
  private child: ChildProcess | undefined;
  private isPaused = false;

  /** `dir`: an existing folder to use instead; `stop` does not remove it. */
  constructor(name: string, port: number, dir?: string) {
    this.name = name;
    this.port = port;
    this.ownsDir = dir === undefined;
    this.dir = dir ?? mkdtempSync(join(tmpdir(), `headgate-${name.toLowerCase()}-`));
  }

  /** Starts the process, and waits until it serves. */
  abstract start(): Promise<void>;

  get pid(): number {
    const pid = this.child?.pid;
    if (pid === undefined) throw new Error(`${this.name} is not running on port ${this.port}`);
    return pid;
  }

  get isRunning(): boolean {
    return this.child !== undefined;
  }

  /** Whether the process is running and not paused. */
  get isUp(): boolean {
    return this.isRunning && !this.isPaused;
  }

  /** Freezes the process: connections stay open, but nothing is answered. */
  pause(): void {
    process.kill(this.pid, "SIGSTOP");
    this.isPaused = true;
  }

  resume(): void {
    process.kill(this.pid, "SIGCONT");
    this.isPaused = false;
  }

  /** Ends the process at once, as a crash would. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  /** Starts the process again on the same port and in the same folder. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async stop(): Promise<void> {
    await this.kill();
    this.removeDir();
  }

  protected spawn(program: string, args: readonly string[]): ChildProcess {
    const hear = (text: string): void => {
      this.log += text;
    };
    const child = spawnChild(program, args, { hear });
    this.child = child;
    child.once(this.ending, () => this.forget(child));
    child.once("error", () => this.forget(child));
    return child;
  }

  protected async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child === undefined) return;
    const ended = new Promise((resolve) => child.once(this.ending, resolve));
    child.kill(signal);
    // Only SIGKILL ends a process that is paused; another signal waits. After SIGKILL it must not run on.
    if (signal !== "SIGKILL") child.kill("SIGCONT");
    await ended;
    this.isPaused = false;
  }

  protected removeDir(): void {
    if (this.ownsDir) rmSync(this.dir, { recursive: true, force: true, maxRetries: 10 });
  }

  /** For `start`, once the process has ended instead of serving. */
  protected startFailure(): Error {
    return new Error(`${this.name} did not start on port ${this.port}:\n${this.log}`);
  }

  private forget(child: ChildProcess): void {
    if (this.child === child) this.child = undefined;
  }
}
