import type { ClientReport } from "../replay/replay-report.ts";
import { countText, durationText } from "./figures.ts";

const HEADER = [
  "source",
  "requests",
  "attempts",
  "admitted at once",
  "later",
  "gave up",
  "unfinished",
  "average wait",
  "longest wait",
];

/** What became of the requests of simulated clients: header and rows. */
export function clientsTable(
  clients: readonly ClientReport[],
): [header: readonly string[], rows: readonly (readonly string[])[]] {
  const rows = clients.map((client) => [
    client.source,
    ...[client.requests, client.attempts, client.admittedAtOnce].map(countText),
    ...[client.admittedLater, client.gaveUp, client.unfinished].map(countText),
    durationText(client.averageWait),
    durationText(client.longestWait),
  ]);
  return [HEADER, rows];
}
