import { stringText } from "../decision/string-text.ts";
import { type ExitCode, exitCodes, InvalidInput } from "../failure.ts";
import { Service, type ServiceOptions, type StoredReservation } from "../rules/service-client.ts";

export interface ListReservationsOptions extends ServiceOptions {
  readonly json?: boolean;
}

const TITLES = ["id", "owner", "age", "expires in", "reserved"];

/** `headgate reservations list`. */
export async function listReservations({ json = false, ...service }: ListReservationsOptions): Promise<ExitCode> {
  const all = await new Service(service).reservations();
  if (json) for (const reservation of all) process.stdout.write(`${JSON.stringify(reservation)}\n`);
  else if (all.length === 0) process.stdout.write("no reservations\n");
  else process.stdout.write(tableOf(all.map((reservation) => cellsOf(reservation, Date.now()))));
  return exitCodes.done;
}

/** `headgate reservations release`. */
export async function releaseReservations(ids: readonly string[], options: ServiceOptions): Promise<ExitCode> {
  if (ids.length === 0) throw new InvalidInput("id: is required: headgate reservations list prints the ids");
  const service = new Service(options);
  for (const id of ids) {
    try {
      await service.releaseReservation(id);
    } catch (error) {
      if (error instanceof InvalidInput) throw new InvalidInput(`${stringText(id)}: ${error.message}`);
      throw error;
    }
    process.stdout.write(`released ${id}\n`);
  }
  return exitCodes.done;
}

function cellsOf({ reservation_id, owner, made_at_ms, expires_at_ms, reserved }: StoredReservation, now: number) {
  const quotas = reserved.map(({ rule_id, dimension, identifier, cost, slots }) => {
    const amount = slots ? `${cost} ${cost === 1 ? "slot" : "slots"}` : String(cost);
    // Clients choose identifiers, which must not control the terminal.
    return `${plain(rule_id)} ${amount} (${dimension} ${plain(identifier)})`;
  });
  const [age, left] = [now - made_at_ms, expires_at_ms - now];
  return [reservation_id, owner ?? "-", secondsText(age), secondsText(left), quotas.join(", ")];
}

function plain(text: string): string {
  const quoted = stringText(text);
  return quoted === `"${text}"` && !text.includes(" ") ? text : quoted;
}

/** The clocks of the store and of this machine may differ slightly. */
function secondsText(ms: number): string {
  return `${Math.max(0, Math.round(ms / 1000))} s`;
}

function tableOf(rows: readonly (readonly string[])[]): string {
  const all = [TITLES, ...rows];
  const widths = TITLES.map((_, i) => Math.max(...all.map((row) => row[i].length)));
  return all
    .map((row) => `${row.map((cell, i) => cell.padEnd(widths[i])).join("  ")}`.trimEnd())
    .join("\n")
    .concat("\n");
}
