import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type ChannelCredentials,
  type Client,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { pino } from "pino";
import { ROLES } from "../../../src/access/api-key.ts";
import type { Principal } from "../../../src/access/key-ring.ts";
import { CallLimits } from "../../../src/checks/call-limits.ts";
import { readSettings } from "../../../src/config/read-settings.ts";
import type { Settings } from "../../../src/config/settings.ts";
import { startEnvoyHttp } from "../../../src/transports/envoy/envoy-http.ts";
import { startEnvoy } from "../../../src/transports/envoy/envoy-server.ts";
import { SelfLimits } from "../../../src/transports/shared/own-limits.ts";
import type { RunningTransport } from "../../../src/transports/shared/transport.ts";
import { type World, world } from "../../checks/fixtures.ts";
import { finallyDo } from "../finally-do.ts";

/** Has every role; `reader` cannot check. */
export const KEY = "admin";

export interface ServedEnvoy extends World {
  readonly server: RunningTransport;
  readonly address: string;
  readonly config: string;
  /** What was logged at `warn` and above. */
  readonly logged: string[];
}

export interface EnvoyOptions {
  /** Configuration files by name. */
  readonly files?: Readonly<Record<string, string>>;
  readonly settings?: Partial<Settings>;
  readonly world?: World;
}

export async function servedEnvoy(options: EnvoyOptions = {}): Promise<ServedEnvoy> {
  return serve(startEnvoy, options, { envoy: { host: "127.0.0.1", port: 0 }, envoyAnonymous: true });
}

export async function servedEnvoyHttp(options: EnvoyOptions = {}): Promise<ServedEnvoy> {
  return serve(startEnvoyHttp, options, { envoyHttp: { host: "127.0.0.1", port: 0 }, envoyAnonymous: true });
}

async function serve(
  start: typeof startEnvoy,
  { files = {}, settings: own = {}, world: given }: EnvoyOptions,
  listener: Partial<Settings>,
): Promise<ServedEnvoy> {
  const made = given ?? (await world([]));
  const config = mkdtempSync(join(tmpdir(), "headgate-envoy-"));
  finallyDo(() => rmSync(config, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(config, name), text);
  const { settings } = await readSettings({ flags: {}, env: {} });
  const logged: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void logged.push(line) });
  const server = await start({
    service: made.service,
    stores: made.stores,
    callLimits: new CallLimits({ stores: made.stores, consistency: "strict", onError: "local" }),
    log,
    keyRing: { authenticate },
    selfLimits: new SelfLimits(),
    telemetry: made.told,
    settings: { ...settings, envoyConfig: config, ...listener, ...own },
    onError: (error) => logged.push(String(error)),
  });
  finallyDo(() => server.stop(0));
  const { port, path } = server.address;
  return { ...made, server, config, logged, address: path === undefined ? `127.0.0.1:${port}` : `unix:${path}` };
}

function authenticate(authorization: string | undefined): Principal | undefined {
  if (authorization === "Bearer reader") return { id: "reader", name: "reader", roles: ["read"], namespace: "" };
  return authorization === `Bearer ${KEY}` ? { id: "all", name: "all", roles: ROLES, namespace: "" } : undefined;
}

function definitionOf(file: string) {
  const path = fileURLToPath(new URL(`proto/${file}`, import.meta.url));
  return loadPackageDefinition(loadSync(path, { keepCase: true, longs: Number, enums: String, defaults: false }));
}

type Callback = (error: ServiceError | null, value: unknown) => void;

/** Calls a method of one of Envoy's services with third-party code. Rejects with the status. */
function caller(file: string, service: readonly string[], method: string) {
  const found = service.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], definitionOf(file));
  const Service = found as new (
    address: string,
    given: unknown,
  ) => Client & Record<string, (...args: unknown[]) => void>;
  return <Answer>(
    address: string,
    request: object,
    options: {
      readonly key?: string;
      readonly deadlineMs?: number;
      readonly credentials?: ChannelCredentials;
    } = {},
  ): Promise<Answer> => {
    const client = new Service(address, options.credentials ?? credentials.createInsecure());
    finallyDo(() => client.close());
    const metadata = new Metadata();
    if (options.key !== undefined) metadata.set("authorization", `Bearer ${options.key}`);
    const deadline = options.deadlineMs === undefined ? {} : { deadline: Date.now() + options.deadlineMs };
    return new Promise((resolve, reject) => {
      const callback: Callback = (error, value) => (error === null ? resolve(value as Answer) : reject(error));
      client[method](request, metadata, deadline, callback);
    });
  };
}

export const shouldRateLimit = caller(
  "rate_limit.proto",
  ["envoy", "service", "ratelimit", "v3", "RateLimitService"],
  "ShouldRateLimit",
);

export const authorize = caller("external_auth.proto", ["envoy", "service", "auth", "v3", "Authorization"], "Check");

export interface RateLimitResponse {
  readonly overall_code: string;
  readonly statuses: readonly {
    readonly code: string;
    readonly current_limit?: { readonly requests_per_unit?: number; readonly unit?: string; readonly name?: string };
    readonly limit_remaining?: number;
    readonly duration_until_reset?: { readonly seconds?: number };
  }[];
  readonly response_headers_to_add?: readonly { readonly key: string; readonly value: string }[];
  readonly raw_body?: Buffer;
}

/** Descriptors as `key=value key=value`. */
export function described(...descriptors: readonly string[]): { entries: { key: string; value: string }[] }[] {
  return descriptors.map((text) => ({
    entries: text.split(" ").map((entry) => {
      const [key, value = ""] = entry.split("=");
      return { key, value };
    }),
  }));
}
