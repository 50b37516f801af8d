import type { Answer, Rule } from "headgate";
import type { Telemetry } from "../../metrics/telemetry.ts";

/** Called for each decision under a limit that was sent with the call. */
export type Decided = (rule: Rule, allowed: boolean, source: Answer["source"]) => void;

/** Counts decisions that are alike together: pipelines have many of them. */
export class DecisionRuns {
  private readonly telemetry: Pick<Telemetry, "counted">;
  private rule: Rule | undefined;
  private allowed = false;
  private source: Answer["source"] = "store";
  private count = 0;

  constructor(telemetry: Pick<Telemetry, "counted">) {
    this.telemetry = telemetry;
  }

  readonly add: Decided = (rule, allowed, source) => {
    if (rule !== this.rule || allowed !== this.allowed || source !== this.source) {
      this.flush();
      this.rule = rule;
      this.allowed = allowed;
      this.source = source;
    }
    this.count += 1;
  };

  flush(): void {
    if (this.rule === undefined || this.count === 0) return;
    this.telemetry.counted(this.rule.name, this.allowed, this.source, this.count);
    this.count = 0;
  }
}
