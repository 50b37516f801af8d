import type { Socket } from "node:net";
import { type Server, ServerCredentials } from "@grpc/grpc-js";
import type { Address, Settings } from "../../config/settings.ts";
import { tlsOptions } from "../../runtime/tls.ts";
import type { Connections } from "./connections.ts";
import { Listener } from "./listener.ts";

const HTTP2 = { ALPNProtocols: ["h2"] };

/** Listens for a gRPC server. The sockets are ours, TLS included: what grpc-js is given is ready for HTTP/2. */
export class GrpcListener {
  private readonly server: Server;
  private readonly tls: Settings["tls"];
  private readonly connections: Connections;
  private readonly listener: Listener;
  private readonly inUse = new Set<Socket>();

  /** `prepare` resolves when the server has all of its services. */
  constructor(
    server: Server,
    { tls, grpcMessageTimeoutMs }: Pick<Settings, "tls" | "grpcMessageTimeoutMs">,
    connections: Connections,
    prepare: () => Promise<void> = async () => {},
  ) {
    this.server = server;
    this.tls = tls;
    this.connections = connections;
    const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    this.listener = new Listener({
      tls: tls && { ...tlsOptions(tls), ...HTTP2 },
      admit: (socket) => connections.admit(socket),
      onConnection: (socket) => {
        this.inUse.add(socket);
        socket.once("close", () => this.inUse.delete(socket));
        void prepare().then(() => {
          if (!socket.destroyed) injector.injectConnection(socket);
        });
      },
      handshakeTimeoutMs: grpcMessageTimeoutMs,
    });
  }

  /** Returns the port, chosen by the system if 0 was requested. */
  listen(address: Address): Promise<number> {
    return this.listener.listen(address);
  }

  reloadCertificates(): void {
    if (this.tls !== undefined) this.listener.setSecureContext({ ...tlsOptions(this.tls), ...HTTP2 });
  }

  /** Accepts no new connections, and ends calls that have not ended after this many milliseconds. */
  async stop(graceMs: number): Promise<void> {
    this.listener.close();
    await this.drained(graceMs);
    // Connections that never reached HTTP/2.
    this.connections.closeAll();
  }

  /**
   * Resolves when all calls have ended and their connections are closed, at the latest after the grace period. Since
   * Node 24, grpc-js does not wait for the calls of connections that it was given, so the connections are watched here.
   */
  private drained(graceMs: number): Promise<void> {
    const { server } = this;
    const closed = [...this.inUse].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        server.forceShutdown();
        // Calls that are cut off do not report their end.
        resolve();
      }, graceMs);
      const shutDown = new Promise<unknown>((resolve) => server.tryShutdown(resolve));
      void Promise.all([shutDown, ...closed]).then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
