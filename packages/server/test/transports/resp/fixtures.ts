import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { ROLES, type Role } from "../../../src/access/api-key.ts";
import type { Principal } from "../../../src/access/key-ring.ts";
import { WrongKeys } from "../../../src/access/wrong-keys.ts";
import { CallLimits } from "../../../src/checks/call-limits.ts";
import type { TlsFiles } from "../../../src/config/settings.ts";
import type { RateLimitRule } from "../../../src/rules/rule.ts";
import { type RespOptions, startResp } from "../../../src/transports/resp/resp-server.ts";
import { SelfLimits } from "../../../src/transports/shared/own-limits.ts";
import type { RunningTransport } from "../../../src/transports/shared/transport.ts";
import { type World, type WorldOptions, world } from "../../checks/fixtures.ts";
import { finallyDo } from "../finally-do.ts";

export interface Served extends World {
  readonly server: RunningTransport;
  readonly port: number;
  /** Keys by their secrets: `check-key`, `read-key`, `write-key`, and what a test adds. */
  readonly keys: Map<string, Principal>;
  /** What should not happen, and did. */
  readonly mistakes: unknown[];
}

export interface ServedOptions extends WorldOptions {
  readonly rules?: readonly RateLimitRule[];
  readonly tls?: TlsFiles;
  readonly selfLimits?: SelfLimits;
  readonly maxConnections?: number;
  readonly consistency?: "strict" | "leased";
  readonly instead?: Partial<Pick<RespOptions, "callLimits">>;
}

/** RESP on a free port, over a memory store and a manual clock. */
export async function served(options: ServedOptions = {}): Promise<Served> {
  const { rules, tls, consistency = "strict", maxConnections = 100 } = options;
  const made = await world(rules, options);
  const keys = new Map<string, Principal>();
  for (const role of ROLES) keys.set(`${role}-key`, owner(role, [role]));
  const mistakes: unknown[] = [];
  const server = await startResp({
    service: made.service,
    callLimits: new CallLimits({ stores: made.stores, consistency, onError: "local" }),
    keyRing: { authenticate: (authorization) => keys.get(authorization?.replace("Bearer ", "") ?? "") },
    wrongKeys: new WrongKeys({ perMinute: 3, clock: made.clock }),
    selfLimits: options.selfLimits ?? new SelfLimits({ clock: made.clock }),
    telemetry: made.told,
    settings: { resp: { host: "127.0.0.1", port: 0 }, respMaxConnections: maxConnections, tls },
    onError: (error) => mistakes.push(error),
    ...options.instead,
  });
  finallyDo(() => server.stop(1_000));
  return { ...made, server, port: server.address.port, keys, mistakes };
}

export function owner(name: string, roles: readonly Role[], namespace = name): Principal {
  return { id: name, name, roles, namespace };
}

/** A connection that sends text and reads text. */
export class RawClient {
  readonly socket: Socket;
  received = "";
  isClosed = false;

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1" }).setEncoding("latin1");
    this.socket.on("data", (text) => {
      this.received += text;
    });
    this.socket.on("close", () => {
      this.isClosed = true;
    });
    this.socket.on("error", () => {});
    finallyDo(() => this.socket.destroy());
  }

  /** Sends commands, and returns what was received once it has this length. */
  async ask(text: string, length: number): Promise<string> {
    this.received = "";
    this.socket.write(text, "latin1");
    while (this.received.length < length && !this.isClosed) {
      await Promise.race([once(this.socket, "data"), once(this.socket, "close")]);
    }
    return this.received;
  }
}
