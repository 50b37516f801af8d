import type { KeyRing } from "../../access/key-ring.ts";
import type { WrongKeys } from "../../access/wrong-keys.ts";
import type { CheckService } from "../../checks/check.ts";
import type { StoreState } from "../../checks/counter-stores.ts";
import type { ReservationService } from "../../checks/reservation-service.ts";
import type { UserDataCache } from "../../checks/user-data-cache.ts";
import type { Database } from "../../database/database.ts";
import type { MostDenied } from "../../metrics/denied-on-all-nodes.ts";
import type { LivePicture } from "../../metrics/node-reports.ts";
import type { Telemetry } from "../../metrics/telemetry.ts";
import type { RecordedRequests } from "../../recorder/recorded-requests.ts";
import type { Catalogue } from "../../rules/catalogue.ts";
import type { SelfLimits } from "../shared/own-limits.ts";
import type { Deprecations } from "./deprecation.ts";

/** With defaults filled in. */
export interface WholeParts extends RestParts {
  readonly selfLimits: SelfLimits;
}

/** What a node has recorded. */
interface RestRecording {
  readonly requests: Pick<RecordedRequests, "page">;
  /** One in this many identities is recorded. */
  readonly oneIn: number;
  /** The hash of a key; undefined if the key is not recorded. */
  readonly nameOf: (key: string) => string | undefined;
}

/** The dependencies of the routes. */
export interface RestParts {
  readonly service: CheckService;
  readonly reservations: Pick<ReservationService, "reserve" | "open" | "extend" | "settle" | "release" | "list">;
  readonly database: Pick<Database, "rules" | "users" | "keys" | "audit" | "rollups" | "answered">;
  /** The rules in force. */
  readonly catalogue: () => Pick<
    Catalogue,
    "byId" | "findWarnings" | "ruleOf" | "limitsFor" | "limitsAt" | "limitsOfUser" | "tiers"
  >;
  /** Tiers and limits of users. */
  readonly userDataCache: Pick<UserDataCache, "of">;
  readonly keyRing: Pick<KeyRing, "authenticate" | "recognize" | "session" | "startSession">;
  /** Default: wrong keys are not counted. */
  readonly wrongKeys?: Pick<WrongKeys, "note" | "retryAfterMs"> | undefined;
  readonly telemetry: Pick<Telemetry, "called">;
  /** Metrics in the Prometheus text format. */
  readonly metricsText: () => string | Promise<string>;
  /** What the node is waiting for; empty if it is ready. */
  readonly ready: () => readonly string[] | Promise<readonly string[]>;
  /** State of the shared store; undefined if there is none. */
  readonly store?: () => StoreState | undefined;
  readonly topDenied: (limit: number) => Promise<MostDenied>;
  /** What all nodes do at present. */
  readonly livePicture: () => Promise<LivePicture>;
  /** What this node has recorded; undefined if it does not record. */
  readonly recording?: RestRecording | undefined;
  /** The file that the rules come from, if not the database. Then they cannot be changed over REST. */
  readonly rulesFile?: string | undefined;
  /** Default: limits of this transport alone. */
  readonly selfLimits?: SelfLimits;
  /** Default: those of this version. */
  readonly deprecations?: Deprecations;
  /** In milliseconds. Default: the system's. */
  readonly now?: () => number;
}
