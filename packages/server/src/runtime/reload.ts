import { Server as HttpsServer } from "node:https";
import type { FastifyInstance } from "fastify";
import type { Settings } from "../config/settings.ts";
import type { RunningTransport } from "../transports/shared/transport.ts";
import type { RulesInForce } from "./active-rules.ts";
import type { Log } from "./log.ts";
import { tlsOptions } from "./tls.ts";

export interface Reloaded {
  readonly settings: Pick<Settings, "tls">;
  readonly log: Log;
  readonly rules: RulesInForce;
  readonly rest: Pick<FastifyInstance, "server">;
  readonly transports: readonly Pick<RunningTransport, "reloadCertificates">[];
}

/** Rereads rules and certificates. Failures are logged, and the previous ones stay in force. */
export async function reload({ settings, log, rules, rest, transports }: Reloaded): Promise<void> {
  const { tls } = settings;
  if (tls !== undefined) {
    try {
      // All or none.
      const options = tlsOptions(tls);
      if (rest.server instanceof HttpsServer) rest.server.setSecureContext(options);
      for (const transport of transports) transport.reloadCertificates();
      log.info({ cert: tls.cert }, "reloaded the certificates");
    } catch (error) {
      log.error({ err: error }, "cannot use the new certificates: the previous ones stay in use");
    }
  }
  await rules.reload();
  const { catalogue, isStale } = rules;
  if (isStale) log.error("cannot reload the rules: the previous ones stay in force");
  else log.info({ rules: catalogue.rules.length }, "reloaded the rules");
}
