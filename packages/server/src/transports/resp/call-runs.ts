import type { Telemetry } from "../../metrics/telemetry.ts";
import { ErrorReply, type Reply } from "./resp-reply.ts";

/** Counts commands that are alike together: pipelines have many of them. */
export class CallRuns {
  private readonly telemetry: Pick<Telemetry, "called">;
  private readonly finished: { readonly name: string; readonly status: string; readonly count: number }[] = [];
  private name = "";
  private status = "";
  private count = 0;
  private total = 0;

  constructor(telemetry: Pick<Telemetry, "called">) {
    this.telemetry = telemetry;
  }

  add(name: string, reply: Reply, count = 1): void {
    const status = reply instanceof ErrorReply ? reply.word : "OK";
    if (name !== this.name || status !== this.status) {
      if (this.count > 0) this.finished.push({ name: this.name, status: this.status, count: this.count });
      this.name = name;
      this.status = status;
      this.count = 0;
    }
    this.count += count;
    this.total += count;
  }

  /** Reports the commands since the last time; each took an equal part of the time since `started`. */
  flush(started: number): void {
    const { telemetry, finished, total } = this;
    if (total === 0) return;
    const seconds = (performance.now() - started) / 1000 / total;
    // Most packets have one run. To set a length takes longer than to count a whole pipeline.
    if (finished.length > 0) {
      for (const { name, status, count } of finished) telemetry.called("resp", name, status, seconds, count);
      finished.length = 0;
    }
    telemetry.called("resp", this.name, this.status, seconds, this.count);
    this.count = 0;
    this.total = 0;
  }
}
