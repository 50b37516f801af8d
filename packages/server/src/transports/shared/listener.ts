import { lookup } from "node:dns/promises";
import { rm } from "node:fs/promises";
import { connect, createServer, isIP, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import type { Address } from "../../config/settings.ts";

export interface ListenerOptions {
  /** With the protocols to negotiate (ALPN), if there are any. */
  readonly tls: TlsOptions | undefined;
  /** Whether to keep a connection; called before anything is read from it. */
  readonly admit: (socket: Socket) => boolean;
  /** Called for each connection, with TLS after its handshake. */
  readonly onConnection: (socket: Socket) => void;
  /** How long a TLS handshake may take. */
  readonly handshakeTimeoutMs: number;
}

/** The sockets of a transport. Servers that open their own cannot limit their number or handshakes. */
export class Listener {
  private readonly options: ListenerOptions;
  private readonly servers: Server[] = [];
  private readonly setSecureContexts: ((tls: TlsOptions) => void)[] = [];

  constructor(options: ListenerOptions) {
    this.options = options;
  }

  /** Listens on every address of the host. Returns the port, chosen by the system if 0 was requested. */
  async listen({ host, port, path }: Address): Promise<number> {
    if (path !== undefined) {
      await removeStaleSocket(path);
      return this.listenOn({ path });
    }
    const hosts = isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];
    let bound = port;
    let failure: unknown;
    for (const each of new Set(hosts)) {
      try {
        bound = await this.listenOn({ host: each, port: bound });
      } catch (error) {
        failure = error;
        // Addresses of a protocol that this machine does not support are skipped.
        if (hosts.length === 1 || !isUnavailable(error)) break;
        failure = this.servers.length > 0 ? undefined : error;
      }
    }
    if (failure !== undefined) {
      this.close();
      throw failure;
    }
    return bound;
  }

  /** New connections use these certificates; existing ones keep theirs. */
  setSecureContext(tls: TlsOptions): void {
    for (const set of this.setSecureContexts) set(tls);
  }

  close(): void {
    for (const server of this.servers.splice(0)) server.close();
  }

  private listenOn(
    options: { readonly host: string; readonly port: number } | { readonly path: string },
  ): Promise<number> {
    const server = this.makeServer();
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(options, () => {
        server.off("error", reject);
        this.servers.push(server);
        const address = server.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
  }

  private makeServer(): Server {
    const { tls, admit, onConnection, handshakeTimeoutMs } = this.options;
    if (tls === undefined) {
      return createServer((socket) => {
        if (admit(socket)) onConnection(socket);
      });
    }
    const server = createTlsServer({ ...tls, handshakeTimeout: handshakeTimeoutMs });
    server.prependListener("connection", admit);
    server.on("secureConnection", (socket) => {
      socket.on("error", () => {});
      onConnection(socket);
    });
    this.setSecureContexts.push((options) => server.setSecureContext(options));
    return server;
  }
}

/** A process that was killed leaves its socket behind, and nothing else can listen on it. */
async function removeStaleSocket(path: string): Promise<void> {
  const code = await new Promise<string>((resolve) => {
    const socket = connect(path, () => resolve(""));
    socket.on("error", (error) => resolve("code" in error ? String(error.code) : ""));
    socket.on("connect", () => socket.destroy());
  });
  if (code === "ECONNREFUSED") await rm(path, { force: true });
}

function isUnavailable(error: unknown): boolean {
  return error instanceof Error && "code" in error && ["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes(String(error.code));
}
