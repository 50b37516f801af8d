import type { Command } from "commander";
import type { ExitCode } from "../failure.ts";
import { type RequireValue, withService } from "../rules/rules-commands.ts";
import type { ImportOptions, UserExportOptions } from "./import-export-users.ts";

const KEY = `
The key can also come from HEADGATE_KEY, where other users of the machine cannot see it. Import needs the role write,
export the role read.
`;

/** Adds `headgate users` and its subcommands. */
export function addUsers(program: Command, requireValue: RequireValue, finish: (code: ExitCode) => void): void {
  const users = program
    .command("users")
    .summary("import and export the tiers and custom limits of users")
    .description("Import and export the tiers and custom limits of users.")
    .helpCommand(false)
    .addHelpText(
      "after",
      "\nExamples:\n  $ headgate users import users.csv\n  $ headgate users export --tier premium > premium.jsonl\n",
    );

  withService(users.command("import"), requireValue)
    .summary("set the tiers and custom limits of many users")
    .description(
      "Set the tiers and custom limits of many users. The whole file is validated before anything is sent. Users that are not in the file are unchanged.",
    )
    .argument("[file]", "the users, CSV or JSON Lines; - reads standard input")
    .option("--format <format>", "csv or jsonl (default: by the file's name)", requireValue("--format"))
    .addHelpText(
      "after",
      `${KEY}
Exit codes:
  0  all users were imported
  1  invalid input, or the service rejected it; the message says how many users were imported before
  2  file not found

Examples:
  $ headgate users import users.csv
  $ headgate users import --format jsonl - < users.jsonl

A CSV file; an empty tier removes the user's tier:
  user_id,tier
  42,premium
  43,

JSON Lines; missing fields are not changed:
  {"user_id": "42", "tier": "premium"}
  {"user_id": "43", "custom_limits": {"orders": {"limit": 250}}}
`,
    )
    .action(async (file: string | undefined, options: ImportOptions) => {
      const { importUsers } = await import("./import-export-users.ts");
      finish(await importUsers(file, options));
    });

  withService(users.command("export"), requireValue)
    .summary("print the users of a service")
    .description(
      "Print the users of a service with their tiers and custom limits as JSON Lines, the format that import reads. Overrides are not included.",
    )
    .option("--tier <tier>", "only users of this tier", requireValue("--tier"))
    .addHelpText("after", `${KEY}\nExamples:\n  $ headgate users export > users.jsonl\n`)
    .action(async (options: UserExportOptions) => {
      const { exportUsers } = await import("./import-export-users.ts");
      finish(await exportUsers(options));
    });
}
