import type { Command } from "commander";
import type { ExitCode } from "../failure.ts";
import { type RequireValue, withService } from "../rules/rules-commands.ts";
import type { ServiceOptions } from "../rules/service-client.ts";
import type { ListReservationsOptions } from "./manage-reservations.ts";

const KEY = `
The key can also come from HEADGATE_KEY, where other users of the machine cannot see it. List needs the role read;
release needs check and, for reservations of other API keys, write.
`;

/** Adds `headgate reservations` and its subcommands. */
export function addReservations(program: Command, requireValue: RequireValue, finish: (code: ExitCode) => void): void {
  const reservations = program
    .command("reservations")
    .summary("list and release reservations")
    .description("List the reservations of a service, and release those that will not be settled.")
    .helpCommand(false)
    .addHelpText("after", "\nExamples:\n  $ headgate reservations list\n  $ headgate reservations release ID\n");

  withService(reservations.command("list"), requireValue)
    .summary("print the reservations that have not ended")
    .description("Print up to 1,000 reservations that have not ended, the next to expire first.")
    .option("--json", "one line of JSON for each instead of a table")
    .addHelpText("after", `${KEY}\nExamples:\n  $ headgate reservations list\n  $ headgate reservations list --json\n`)
    .action(async (options: ListReservationsOptions) => {
      const { listReservations } = await import("./manage-reservations.ts");
      finish(await listReservations(options));
    });

  withService(reservations.command("release"), requireValue)
    .summary("return the quota and slots of reservations")
    .description("Release reservations: their quota and slots are returned, and they can no longer be settled.")
    .argument("[id...]", "the ids of the reservations, as list prints them")
    .addHelpText(
      "after",
      `${KEY}
Exit codes:
  0  all reservations were released
  1  a reservation could not be released; those before it were

Examples:
  $ headgate reservations release 0198c2f4-5d0e-4c1b-9a53-6f0c7d1e2b3a
`,
    )
    .action(async (ids: readonly string[], options: ServiceOptions) => {
      const { releaseReservations } = await import("./manage-reservations.ts");
      finish(await releaseReservations(ids, options));
    });
}
