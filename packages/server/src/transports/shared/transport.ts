import type { KeyRing } from "../../access/key-ring.ts";
import type { WrongKeys } from "../../access/wrong-keys.ts";
import type { CallLimits } from "../../checks/call-limits.ts";
import type { CheckService } from "../../checks/check.ts";
import type { Stores } from "../../checks/counter-stores.ts";
import type { ReservationService } from "../../checks/reservation-service.ts";
import type { Address, Settings } from "../../config/settings.ts";
import type { Telemetry } from "../../metrics/telemetry.ts";
import type { Consistency } from "../../rules/rule.ts";
import type { Log } from "../../runtime/log.ts";
import type { SelfLimits } from "./own-limits.ts";

/** What every transport besides REST is started with. */
export interface TransportOptions {
  readonly service: CheckService;
  readonly reservations: ReservationService;
  readonly callLimits: CallLimits;
  /** The stores of counters, for limits that are not rules of the service. */
  readonly stores: Pick<Stores, Consistency | "clock">;
  readonly log: Log;
  readonly keyRing: KeyRing;
  readonly wrongKeys: WrongKeys;
  readonly selfLimits: SelfLimits;
  readonly telemetry: Telemetry;
  readonly settings: Settings;
  /** Called for unexpected errors. */
  readonly onError: (error: unknown) => void;
}

export type StartTransport = (options: TransportOptions) => Promise<RunningTransport>;

export interface RunningTransport {
  /** The address, with the port chosen by the system if 0 was requested. */
  readonly address: Address;
  /** Reloads the certificates for new connections. Throws, and changes nothing, if they cannot be used. */
  reloadCertificates(): void;
  /** Accepts no new calls, and ends those that have not ended after this many milliseconds. */
  stop(graceMs: number): Promise<void>;
}
