import type { Socket } from "node:net";
import type { CallLimits } from "../../checks/call-limits.ts";
import type { CheckService } from "../../checks/check.ts";
import type { Settings } from "../../config/settings.ts";
import type { Telemetry } from "../../metrics/telemetry.ts";
import { tlsOptions } from "../../runtime/tls.ts";
import type { KeyCheckOptions } from "../shared/authenticate.ts";
import { Connections } from "../shared/connections.ts";
import { Listener } from "../shared/listener.ts";
import type { SelfLimits } from "../shared/own-limits.ts";
import type { RunningTransport } from "../shared/transport.ts";
import { CommandTable } from "./command-table.ts";
import { connectionCommands } from "./connection-commands.ts";
import { DecisionRuns } from "./decision-runs.ts";
import { checkCommands } from "./hg-check-command.ts";
import { RespConnection } from "./resp-connection.ts";
import { throttleCommands } from "./throttle-commands.ts";

const HANDSHAKE_TIMEOUT_MS = 10_000;

export interface RespOptions extends KeyCheckOptions {
  readonly service: Pick<CheckService, "checkRule">;
  readonly callLimits: CallLimits;
  readonly selfLimits: Pick<SelfLimits, "admitChecks" | "returnChecks">;
  readonly telemetry: Pick<Telemetry, "called" | "counted">;
  readonly settings: Pick<Settings, "resp" | "respMaxConnections" | "tls">;
  /** Called for unexpected errors. */
  readonly onError: (error: unknown) => void;
}

export async function startResp(options: RespOptions): Promise<RunningTransport> {
  const { settings, telemetry, callLimits, service, keyRing, wrongKeys, selfLimits, onError } = options;
  const { tls, respMaxConnections } = settings;
  const { host, port } = settings.resp ?? { host: "127.0.0.1", port: 0 };
  const connections = new Connections(respMaxConnections);
  const decisions = new DecisionRuns(telemetry);
  const commands = new CommandTable((all) => [
    ...connectionCommands(all),
    ...throttleCommands(callLimits, decisions.add),
    ...checkCommands(service),
  ]);
  const open = new Map<Socket, RespConnection>();
  const listener = new Listener({
    tls: tls && tlsOptions(tls),
    admit: (socket) => connections.admit(socket),
    onConnection(socket) {
      const connection = new RespConnection(socket, {
        commands,
        limits: callLimits,
        keyRing,
        wrongKeys,
        selfLimits,
        telemetry,
        decisions,
        onAuthenticated(socket) {
          const connection = connections.ofSocket(socket);
          if (connection?.isAuthenticated === false) connections.authenticated(connection);
        },
        onError,
      });
      open.set(socket, connection);
      socket.once("close", () => open.delete(socket));
    },
    handshakeTimeoutMs: HANDSHAKE_TIMEOUT_MS,
  });
  const bound = await listener.listen({ host, port });
  return {
    address: { host, port: bound },
    reloadCertificates() {
      if (tls !== undefined) listener.setSecureContext(tlsOptions(tls));
    },
    async stop(graceMs) {
      listener.close();
      const closed = [...open.keys()].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
      for (const connection of open.values()) connection.quit();
      const timer = setTimeout(() => connections.closeAll(), graceMs);
      await Promise.all(closed);
      clearTimeout(timer);
      connections.closeAll();
    },
  };
}
