import type { Command } from "commander";
import type { ExitCode } from "../failure.ts";
import type { DiffOptions, ExportOptions, ImportOptions } from "./rules-file-actions.ts";
import type { ServiceOptions } from "./service-client.ts";

export type RequireValue = (option: string) => (value: string) => string;

const SERVICE = `
The key can also come from HEADGATE_KEY, where other users of the machine cannot see it. It needs the role read and,
for apply, write.
`;

/** Adds `headgate rules` and its subcommands. */
export function addRules(program: Command, requireValue: RequireValue, finish: (code: ExitCode) => void): void {
  const rules = program
    .command("rules")
    .summary("validate, compare, apply, export and import rules files")
    .description("Validate, compare, apply, export and import rules files.")
    .helpCommand(false)
    .addHelpText(
      "after",
      "\nExamples:\n  $ headgate rules validate rules.yaml\n  $ headgate rules export -o rules.yaml\n",
    );

  rules
    .command("validate")
    .summary("report the problems in a rules file")
    .description("Report all problems in a rules file, and warn about rules that overlap.")
    .argument("[file]", "the rules file, YAML or JSON; - reads standard input")
    .addHelpText(
      "after",
      `
Exit codes:
  0  the file is valid, with or without warnings
  1  the file is invalid
  2  file not found

Examples:
  $ headgate rules validate rules.yaml
`,
    )
    .action(async (file: string | undefined) => {
      const { validate } = await import("./rules-file-actions.ts");
      finish(await validate(file));
    });

  withService(rules.command("diff"), requireValue)
    .summary("show what apply would change")
    .description("Show what apply would change: + a new rule, ~ a changed one, - a removed one.")
    .argument("[file]", "the rules file, YAML or JSON; - reads standard input")
    .option("--against <file>", "compare with another file instead of a service", requireValue("--against"))
    .option("--fail-on-difference", "exit with 3 if anything would change")
    .addHelpText(
      "after",
      `${SERVICE}
Exit codes:
  0  compared, with or without a difference
  1  invalid input, or the service cannot be reached
  2  file not found
  3  something would change, and --fail-on-difference was given

Examples:
  $ headgate rules diff rules.yaml
  $ headgate rules diff rules.yaml --against rules.before.yaml
`,
    )
    .action(async (file: string | undefined, options: DiffOptions) => {
      const { diff } = await import("./rules-file-actions.ts");
      finish(await diff(file, options));
    });

  withService(rules.command("apply"), requireValue)
    .summary("replace the rules of a service with those in a file")
    .description(
      "Replace all rules of a service with those in a file, all or nothing. Rules that are not in the file are removed.",
    )
    .argument("[file]", "the rules file, YAML or JSON; - reads standard input")
    .addHelpText(
      "after",
      `${SERVICE}\nExamples:\n  $ headgate rules diff rules.yaml && headgate rules apply rules.yaml\n`,
    )
    .action(async (file: string | undefined, options: ServiceOptions) => {
      const { apply } = await import("./rules-file-actions.ts");
      finish(await apply(file, options));
    });

  withService(rules.command("export"), requireValue)
    .summary("print the rules of a service as a file")
    .description("Print the rules of a service in the format that validate, diff, apply and serve read.")
    .option("-o, --output <file>", "write to this file instead of standard output", requireValue("--output"))
    .addHelpText("after", `${SERVICE}\nExamples:\n  $ headgate rules export -o rules.yaml\n`)
    .action(async (options: ExportOptions) => {
      const { exportRules } = await import("./rules-file-actions.ts");
      finish(await exportRules(options));
    });
  addImport(rules, requireValue, finish);
}

/** Adds `headgate rules import`. */
function addImport(rules: Command, requireValue: RequireValue, finish: (code: ExitCode) => void): void {
  rules
    .command("import")
    .summary("convert the limits of another limiter")
    .description(
      "Convert the limits of another limiter to a rules file. Settings without an equivalent are listed on standard error, with their location.",
    )
    .argument("[file]", "a file of envoyproxy/ratelimit, Limitador or nginx; - reads standard input")
    .option("--from <format>", "envoy, limitador or nginx", requireValue("--from"))
    .option("-o, --output <file>", "write to this file instead of standard output", requireValue("--output"))
    .addHelpText(
      "after",
      `
Examples:
  $ headgate rules import --from envoy config.yaml -o rules.yaml
  $ headgate rules import --from nginx /etc/nginx/nginx.conf
`,
    )
    .action(async (file: string | undefined, options: ImportOptions) => {
      const { importFile } = await import("./rules-file-actions.ts");
      finish(await importFile(file, options));
    });
}

/** Adds the options for the address and the API key of a service. */
export function withService(command: Command, requireValue: RequireValue): Command {
  return command
    .option("--url <url>", "URL of the service (default: http://127.0.0.1:8080)", requireValue("--url"))
    .option("--key <key>", "an API key of the service", requireValue("--key"));
}
