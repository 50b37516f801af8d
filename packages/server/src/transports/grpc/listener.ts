import { lookup } from "node:dns/promises";
import { createServer, isIP, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import type { Address } from "../../config/settings.ts";

export interface ListenerOptions {
  readonly tls: TlsOptions | undefined;
  /** Whether a connection is to be kept, asked before anything is read from it. */
  readonly admit: (socket: Socket) => boolean;
  /** Told of each connection that is ready for HTTP/2. */
  readonly onConnection: (socket: Socket) => void;
  /** How long a TLS handshake may take. */
  readonly handshakeTimeoutMs: number;
}

/** The sockets that gRPC is served on. grpc-js would open its own, but can bound neither them nor their number. */
export class Listener {
  private readonly options: ListenerOptions;
  private readonly servers: Server[] = [];
  private readonly setSecureContexts: ((tls: TlsOptions) => void)[] = [];

  constructor(options: ListenerOptions) {
    this.options = options;
  }

  /** Listens on every address that the host has; answers the port, which is a free one if 0 was asked for. */
  async listen({ host, port }: Address): Promise<number> {
    const hosts = isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];
    let bound = port;
    let failure: unknown;
    for (const each of new Set(hosts)) {
      try {
        bound = await this.listenOn(each, bound);
      } catch (error) {
        failure = error;
        // Of the addresses of a name, those of a protocol that this machine does not have are left out.
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

  /** New connections use these certificates; those there are keep theirs. */
  setSecureContext(tls: TlsOptions): void {
    for (const set of this.setSecureContexts) set(tls);
  }

  close(): void {
    for (const server of this.servers.splice(0)) server.close();
  }

  private listenOn(host: string, port: number): Promise<number> {
    const server = this.makeServer();
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port }, () => {
        server.off("error", reject);
        this.servers.push(server);
        const address = server.address();
        resolve(typeof address === "object" && address !== null ? address.port : port);
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
    const server = createTlsServer({ ...tls, ALPNProtocols: ["h2"], handshakeTimeout: handshakeTimeoutMs });
    server.prependListener("connection", admit);
    server.on("secureConnection", (socket) => {
      socket.on("error", () => {});
      onConnection(socket);
    });
    this.setSecureContexts.push((options) => server.setSecureContext(options));
    return server;
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof Error && "code" in error && ["EADDRNOTAVAIL", "EAFNOSUPPORT"].includes(String(error.code));
}
