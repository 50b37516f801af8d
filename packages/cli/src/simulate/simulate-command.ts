import type { Command } from "commander";
import type { ExitCode } from "../failure.ts";
import { withReport } from "../replay/replay-command.ts";
import type { RequireValue } from "../rules/rules-commands.ts";
import type { SimulateCommandOptions } from "./simulate.ts";

/** Adds `headgate simulate`. */
export function addSimulate(program: Command, requireValue: RequireValue, finish: (code: ExitCode) => void): void {
  withReport(program.command("simulate"), requireValue)
    .summary("show what rules would do to traffic that a file describes")
    .description("Generate the traffic that a file describes, decide it under the rules of the file, and report.")
    .argument("[file]", "the simulation (required), YAML or JSON; - reads standard input")
    .option("--seed <number>", "seed to use instead of the one in the file", requireValue("--seed"))
    .addHelpText(
      "after",
      `
Exit codes:
  0  simulated
  1  invalid input
  2  file not found
  3  a condition of --fail-if is true

Examples:
  $ headgate simulate examples/simulations/flash-crowd.yaml
  $ headgate simulate flash-crowd.yaml --seed 2 --html report.html
  $ headgate simulate flash-crowd.yaml --fail-if 'denied_keys_share > 1%'
`,
    )
    .action(async (file: string | undefined, options: SimulateCommandOptions) => {
      const { simulateFile } = await import("./simulate.ts");
      finish(await simulateFile(file, options));
    });
}
