import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts an example as its reader does, and answers once it has ended or says what to try. */
export async function startExample(name: string, env: Readonly<Record<string, string>> = {}): Promise<Example> {
  const example = new Example(name, env);
  await example.started;
  return example;
}

export class Example {
  /** All that was printed. */
  output = "";
  readonly started: Promise<void>;
  /** The exit code, once it has ended. */
  readonly ended: Promise<number | null>;
  private readonly process: ChildProcess;

  constructor(name: string, env: Readonly<Record<string, string>>) {
    const file = fileURLToPath(new URL(`../../examples/${name}.mjs`, import.meta.url));
    const { PORT: _, ...inherited } = process.env;
    this.process = spawn(process.execPath, [file], {
      env: { ...inherited, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.ended = once(this.process, "close").then(([code]) => code);
    this.started = new Promise((resolve) => {
      const read = (text: string): void => {
        this.output += text;
        if (/^try: .*\n/m.test(this.output)) resolve();
      };
      this.process.stdout?.setEncoding("utf8").on("data", read);
      this.process.stderr?.setEncoding("utf8").on("data", read);
      void this.ended.then(() => resolve());
    });
  }

  /** The address that it prints. */
  get url(): string {
    const [, url] = /^listening on (http:\S+)$/m.exec(this.output) ?? [];
    if (url === undefined) throw new Error(`it does not listen:\n${this.output}`);
    return url;
  }

  /** Each call has its own connection, as those of curl do. */
  async call(path = "/", init: RequestInit = {}): Promise<Called> {
    const headers = { ...init.headers, connection: "close" };
    const response = await fetch(this.url + path, { ...init, headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** So many calls, one after the other. */
  async callTimes(times: number, path?: string, init?: RequestInit): Promise<Called[]> {
    const calls: Called[] = [];
    for (let i = 0; i < times; i += 1) calls.push(await this.call(path, init));
    return calls;
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.ended;
  }

  async stop(): Promise<void> {
    this.process.kill();
    await this.ended;
  }
}

export interface Called {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export function statuses(calls: readonly Called[]): number[] {
  return calls.map(({ status }) => status);
}
