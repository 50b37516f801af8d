import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManualClock } from "headgate/testing";
import { ROLES, type Role } from "../../../src/access/api-key.ts";
import { KeyRing } from "../../../src/access/key-ring.ts";
import { makeKey } from "../../../src/access/secret.ts";
import type { CheckService } from "../../../src/checks/check.ts";
import { makeCheckService } from "../../../src/checks/check-service.ts";
import { openStores } from "../../../src/checks/counter-stores.ts";
import { ReservationService } from "../../../src/checks/reservation-service.ts";
import { UserDataCache } from "../../../src/checks/user-data-cache.ts";
import type { Database } from "../../../src/database/database.ts";
import { openDatabase } from "../../../src/database/open-database.ts";
import { NodeReports } from "../../../src/metrics/node-reports.ts";
import { NodeTelemetry } from "../../../src/metrics/node-telemetry.ts";
import { Catalogue } from "../../../src/rules/catalogue.ts";
import type { RuleInput } from "../../../src/rules/rule.ts";
import { makeRest, type RestOptions } from "../../../src/transports/rest/app.ts";
import type { RestParts } from "../../../src/transports/rest/rest-dependencies.ts";
import { SelfLimits } from "../../../src/transports/shared/own-limits.ts";
import { sampleInput } from "../../rules/sample-rule.ts";

const NODE = { name: "test", version: "0.0.0", store: () => undefined };
const SYSTEM = { id: "system", name: "test" };

/** 3 each minute for everything that a user does, but for what is given. */
export function ruleOf(fields: Partial<RuleInput> = {}): RuleInput {
  return sampleInput({ limit: 3, algorithm: "fixed_window", ...fields });
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests find out.
  readonly body: any;
}

export interface Ask {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** null: none. Default: one with every role. */
  readonly key?: string | null;
}

export interface Service {
  readonly url: string;
  readonly port: number;
  readonly database: Database;
  readonly clock: ManualClock;
  readonly keys: Readonly<Record<Role | "all", string>>;
  readonly calls: string[];
  readonly folder: string;
  ask(method: string, path: string, ask?: Ask): Promise<Answer>;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly rules?: readonly RuleInput[];
  /** Stands in for parts of it. */
  readonly parts?: (parts: RestParts) => Partial<RestParts>;
  readonly rest?: RestOptions;
}

/** The service over HTTP as nodes make it: SQLite in a folder of its own, counters in memory, a manual clock. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { rules = [ruleOf()], parts = () => ({}), rest = {} } = options;
  const folder = await mkdtemp(join(tmpdir(), "headgate-rest-"));
  const database = await openDatabase({ data: folder });
  await database.rules.replace(rules, SYSTEM);
  let catalogue = Catalogue.of(await database.rules.all());
  // Early in a minute, so that no window ends because of when the test runs.
  const clock = new ManualClock(Date.now() - (Date.now() % 60_000) + 1_000);
  const now = (): number => clock.now() / 1000;
  const stores = await openStores({ redis: undefined, zookeeper: undefined, nodes: 1 }, {}, clock);
  const userDataCache = new UserDataCache(database.users);
  const calls: string[] = [];
  const telemetry = {
    decided() {},
    transition() {},
    skew() {},
    called: (_: string, route: string, status: string) => void calls.push(`${route} ${status}`),
  };
  const service: CheckService = makeCheckService({
    stores,
    catalogue: () => catalogue,
    userDataCache,
    telemetry,
    audit: database.audit,
    skewBoundMs: 1_000,
  });
  const reservations = new ReservationService({
    audit: database.audit,
    stores,
    catalogue: () => catalogue,
    userDataCache,
    nowMs: now,
    clock,
  });
  const keyRing = new KeyRing(database, { now });
  const secrets = new Map<string, string>();
  for (const [name, roles] of [...ROLES.map((role) => [role, [role]] as const), ["all", ROLES] as const]) {
    const { record, secret } = makeKey(name, roles);
    await database.keys.add(record, SYSTEM);
    secrets.set(name, secret);
  }
  await keyRing.refresh();
  database.onChange(async (change) => {
    userDataCache.changed(change);
    if (change.kind === "rules" || change.kind === "all") catalogue = Catalogue.of(await database.rules.all());
  });
  const whole: RestParts = {
    service,
    reservations,
    database,
    catalogue: () => catalogue,
    userDataCache,
    keyRing,
    telemetry,
    metricsText: () => "# HELP headgate_up It runs.\nheadgate_up 1\n",
    ready: () => [],
    topDenied: async () => ({
      keys: [{ dimension: "user", identifier: "42", denied: 3, error: 0 }],
      nodes: 2,
      complete: true,
    }),
    livePicture: () => new NodeReports(new NodeTelemetry(), database.nodes, NODE, now()).picture(now()),
    selfLimits: new SelfLimits({ clock }),
    now,
  };
  const app = makeRest({ ...whole, ...parts(whole) }, rest);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const keys = Object.fromEntries(secrets) as Service["keys"];
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    database,
    clock,
    keys,
    calls,
    folder,
    async ask(method, path, { body, headers = {}, key = keys.all } = {}) {
      const response = await fetch(`${url}${path}`, {
        method,
        redirect: "manual",
        headers: {
          ...(key === null ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = text !== "" && response.headers.get("content-type")?.includes("json");
      return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
    },
    async stop() {
      await app.close();
      keyRing.close();
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Waits for what another part of the service must find out first. */
export async function eventually(assert: () => Promise<void> | void, withinMs = 3_000): Promise<void> {
  const end = performance.now() + withinMs;
  for (;;) {
    try {
      return await assert();
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
