import type { Command } from "commander";
import type { ExitCode } from "../failure.ts";
import { type RequireValue, withService } from "../rules/rules-commands.ts";
import type { ServiceOptions } from "../rules/service-client.ts";
import type { CreateKeyOptions } from "./manage-keys.ts";

const KEY = `
The key can also come from HEADGATE_KEY, where other users of the machine cannot see it. Create and revoke need the
role write, list the role read.
`;

/** Adds `headgate keys` and its subcommands. */
export function addKeys(program: Command, requireValue: RequireValue, finish: (code: ExitCode) => void): void {
  const keys = program
    .command("keys")
    .summary("create, list and revoke API keys")
    .description("Create, list and revoke the API keys of a service.")
    .helpCommand(false)
    .addHelpText("after", "\nExamples:\n  $ headgate keys create --name shop --roles check\n  $ headgate keys list\n");

  withService(keys.command("create"), requireValue)
    .summary("create an API key and print it")
    .description("Create an API key, and print it once as JSON. Its secret cannot be shown again.")
    .option("--name <name>", "name of the key (required)", requireValue("--name"))
    .option("--roles <roles>", "check, read and write, separated by commas (required)", requireValue("--roles"))
    .option(
      "--namespace <name>",
      "keys with the same namespace share reservations, and counters of limits sent with a call (default: the id of the key)",
      requireValue("--namespace"),
    )
    .option("--expires-at <time>", "when the key expires, as in 2027-01-31T12:00:00Z", requireValue("--expires-at"))
    .addHelpText(
      "after",
      `${KEY}
Examples:
  $ headgate keys create --name shop --roles check
  $ headgate keys create --name shop-2027 --roles check --namespace shop
`,
    )
    .action(async (options: CreateKeyOptions) => {
      const { createKey } = await import("./manage-keys.ts");
      finish(await createKey(options));
    });

  withService(keys.command("list"), requireValue)
    .summary("print all API keys, without their secrets")
    .description("Print all API keys, without their secrets, one line of JSON for each.")
    .addHelpText("after", `${KEY}\nExamples:\n  $ headgate keys list\n`)
    .action(async (options: ServiceOptions) => {
      const { listKeys } = await import("./manage-keys.ts");
      finish(await listKeys(options));
    });

  withService(keys.command("revoke"), requireValue)
    .summary("revoke an API key")
    .description("Revoke an API key. Every node rejects it within a second.")
    .argument("[key_id]", "the id of the key, as list prints it")
    .addHelpText("after", `${KEY}\nExamples:\n  $ headgate keys revoke 3f2a9c81d0e47b56\n`)
    .action(async (id: string | undefined, options: ServiceOptions) => {
      const { revokeKey } = await import("./manage-keys.ts");
      finish(await revokeKey(id, options));
    });
}
