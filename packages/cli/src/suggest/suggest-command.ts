import type { Command } from "commander";
import type { ExitCode } from "../failure.ts";
import { FORMATS, withLogFields } from "../replay/replay-command.ts";
import type { RequireValue } from "../rules/rules-commands.ts";
import type { SuggestCommandOptions } from "./suggest.ts";

/** Adds `headgate suggest`. */
export function addSuggest(program: Command, requireValue: RequireValue, finish: (code: ExitCode) => void): void {
  withLogFields(program.command("suggest"), requireValue)
    .summary("find the smallest limits that fit access logs")
    .description(
      "Find, for each algorithm, the smallest limit and burst that deny at most a given share of the keys in access logs.",
    )
    .option("--rule <id>", "the rule to suggest limits for (required)", requireValue("--rule"))
    .option(
      "--deny-at-most <share>",
      "share of keys that may be denied, as in 0.1% (required)",
      requireValue("--deny-at-most"),
    )
    .option("--rules <file>", "rules that contain the rule, for its path, methods and window", requireValue("--rules"))
    .option("--window <seconds>", "length of the window (default: that of the rule, or 60)", requireValue("--window"))
    .option(
      "--algorithm <name>",
      "algorithm of the rule to print (default: that of the rule)",
      requireValue("--algorithm"),
    )
    .option("--json", "print the suggestions as JSON")
    .addHelpText(
      "after",
      `${FORMATS}
Exit codes:
  0  limits were found
  1  invalid input, or no request that the rule applies to
  2  file not found

Examples:
  $ headgate suggest access.log --rule api --deny-at-most 0.1%
  $ headgate suggest access.log --rules rules.yaml --rule orders --deny-at-most 1% --window 3600
  $ headgate suggest app.jsonl --rule chat --key user=account.id --cost tokens --deny-at-most 0.5%
`,
    )
    .action(async (logs: readonly string[], options: SuggestCommandOptions) => {
      const { suggestFromLogs } = await import("./suggest.ts");
      finish(await suggestFromLogs(logs, options));
    });
}
