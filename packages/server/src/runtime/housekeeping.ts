import type { Stores } from "../checks/counter-stores.ts";
import type { Settings } from "../config/settings.ts";
import type { Database } from "../database/database.ts";
import type { DeniedOnAllNodes } from "../metrics/denied-on-all-nodes.ts";
import type { NodeReports } from "../metrics/node-reports.ts";
import type { NodeTelemetry } from "../metrics/node-telemetry.ts";
import type { ReservationFigures } from "../metrics/reservation-figures.ts";
import type { RollupWriter } from "../metrics/rollup-writer.ts";
import type { RulesInForce } from "./active-rules.ts";
import type { Log } from "./log.ts";
import type { Timetable } from "./recurring-work.ts";

const PING_MS = 2_000;
const ROLLUP_MS = 10_000;
/** How often a node writes what it does at present, for the live picture of all nodes. */
const REPORT_MS = 2_000;
/** How often reservations are counted. */
const RESERVATIONS_MS = 5_000;
const HOUR_MS = 3_600_000;

/** What housekeeping works on. */
interface Housekeeping {
  readonly database: Database;
  readonly stores: Stores;
  readonly telemetry: NodeTelemetry;
  readonly rules: RulesInForce;
  readonly rollups: RollupWriter;
  readonly denied: DeniedOnAllNodes;
  readonly reports: NodeReports;
  readonly reservationFigures: ReservationFigures;
  readonly settings: Settings;
  readonly log: Log;
  /** Whether this process does what is done once per node: with several workers, the first one. */
  readonly isFirst: boolean;
}

/**
 * Starts what a node does at intervals: it probes store and database, writes usage figures and its report, counts
 * reservations, starts a new hour of the most denied keys, and purges expired data.
 */
export function startHousekeeping(
  timetable: Timetable,
  {
    database,
    stores,
    telemetry,
    rules,
    rollups,
    denied,
    reports,
    reservationFigures,
    settings,
    log,
    isFirst,
  }: Housekeeping,
): void {
  timetable.every(PING_MS, async () => {
    await stores.probe();
  });
  let isGone = false;
  timetable.every(PING_MS, async () => {
    try {
      await database.ping();
      if (isGone) log.info("the database is back");
      isGone = false;
    } catch (error) {
      if (!isGone) log.error({ err: error }, "the database is unreachable: checks continue, changes are rejected");
      isGone = true;
      // Detects that rules cannot be read, and retries until they can.
      await rules.refresh();
    }
  });
  // Pings report that the database is down.
  timetable.every(REPORT_MS, () => reports.write(Date.now()).catch(() => {}));
  // Reservations are those of all nodes. That the store is down is reported elsewhere.
  if (isFirst && stores.canReserve)
    timetable.every(RESERVATIONS_MS, () => reservationFigures.refresh().catch(() => {}));
  let isFailing = false;
  timetable.every(ROLLUP_MS, async () => {
    try {
      await rollups.flush(new Date());
      await denied.flush();
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, "cannot write usage figures: retrying");
      isFailing = true;
    }
  });
  timetable.every(HOUR_MS, async () => {
    telemetry.topDenied.rotate();
    if (!isFirst) return;
    try {
      const purged = await database.purge(new Date(), { audit: settings.auditRetentionMs });
      log.info({ purged }, "purged expired data");
    } catch (error) {
      log.warn({ err: error }, "cannot purge expired data: retrying in an hour");
    }
  });
}
