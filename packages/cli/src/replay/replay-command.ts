import type { Command } from "commander";
import type { ExitCode } from "../failure.ts";
import type { RequireValue } from "../rules/rules-commands.ts";
import type { ReplayCommandOptions } from "./replay-logs.ts";

export const FORMATS = `
Formats, detected from the first lines:
  combined    nginx and Apache, combined or common; fields remote_addr, remote_user, method, path, status,
              body_bytes_sent, http_referer, http_user_agent
  cloudfront  Amazon CloudFront; fields as in its #Fields line
  caddy       Caddy, one JSON object per line
  envoy       Envoy, one JSON object per line, with the usual names
  json        one JSON object per line; dots lead into nested objects: request.headers.X-User.0
  csv         with a header line; comma, semicolon or tab
`;

/** Adds `headgate replay`. */
export function addReplay(program: Command, requireValue: RequireValue, finish: (code: ExitCode) => void): void {
  withReport(withLogFields(program.command("replay"), requireValue), requireValue)
    .summary("show what rules would have denied, from access logs")
    .description(
      "Decide the requests of access logs under the rules in a file, each at its own time, and report the decisions.",
    )
    .option("--rules <file>", "the rules (required), YAML or JSON", requireValue("--rules"))
    .option("--lateness <seconds>", "how far lines may be out of order (default: 5)", requireValue("--lateness"))
    .option("--recording", "the logs are recordings of nodes: reproduce their decisions")
    .option("--against <file>", "other rules for the same requests, to compare", requireValue("--against"))
    .addHelpText(
      "after",
      `${FORMATS}
A condition compares a figure: requests, admitted, denied, denied_share, keys, denied_keys, denied_keys_share, late,
bad_lines, bad_lines_share. With --against, figures are those of the other rules, and there are also newly_denied,
newly_denied_share, newly_denied_keys, newly_admitted and newly_admitted_keys.

Exit codes:
  0  replayed
  1  invalid input
  2  file not found
  3  a condition of --fail-if is true, or a decision of a recording was not reproduced

Examples:
  $ headgate replay access.log --rules rules.yaml
  $ zcat access.log.*.gz | headgate replay - --rules rules.yaml --html report.html
  $ headgate replay app.jsonl --rules rules.yaml --key user=account.id --cost tokens
  $ headgate replay access.log --rules rules.yaml --against new.yaml --fail-if 'newly_denied_keys > 0'
  $ headgate replay --recording recordings/*.jsonl
`,
    )
    .action(async (logs: readonly string[], options: ReplayCommandOptions) => {
      if (options.recording) {
        const { replayRecordingFiles } = await import("./replay-recording.ts");
        finish(await replayRecordingFiles(logs, options.json === true));
        return;
      }
      const { replayLogs } = await import("./replay-logs.ts");
      finish(await replayLogs(logs, options));
    });
}

/** Adds the options of a report. */
export function withReport(command: Command, requireValue: RequireValue): Command {
  return command
    .option("--top <number>", "how many keys to list for each rule (default: 10)", requireValue("--top"))
    .option("--json", "print the report as JSON")
    .option("--html <file>", "write the report as a page with plots", requireValue("--html"))
    .option(
      "--fail-if <condition>",
      "exit with 3 if the condition is true, as in 'denied_share > 0.1%'; can be repeated",
      collect(requireValue("--fail-if")),
    );
}

/** Adds the logs, and the options that say what their fields mean. */
export function withLogFields(command: Command, requireValue: RequireValue): Command {
  return command
    .argument("[logs...]", "access logs, plain or gzip; - or none reads standard input")
    .option("--format <name>", "format of the logs (default: detected)", requireValue("--format"))
    .option(
      "--key <field>",
      "field with the key, after its dimension: user=account.id (default: the client's address, as ip)",
      requireValue("--key"),
    )
    .option("--time <field>", "field with the time", requireValue("--time"))
    .option("--path <field>", "field with the path", requireValue("--path"))
    .option("--method <field>", "field with the method", requireValue("--method"))
    .option("--cost <field>", "field with the cost (default: each request costs 1)", requireValue("--cost"));
}

function collect(read: (value: string) => string): (value: string, before?: readonly string[]) => readonly string[] {
  return (value, before = []) => [...before, read(value)];
}
