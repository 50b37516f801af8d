import type { Socket } from "node:net";

/** One client connection. */
export class Connection {
  readonly socket: Socket;
  /** Whether a call with a valid key has been made on it. */
  isAuthenticated = false;
  /** Calls without a key that have not ended: health and reflection. */
  openCalls = 0;

  constructor(socket: Socket) {
    this.socket = socket;
  }
}

/**
 * The connections of a server, at most `most`. When there is no room, the oldest connection that has never presented
 * a valid key is closed to make some: clients without a key cannot keep out those that have one.
 */
export class Connections {
  private readonly most: number;
  private readonly byPeer = new Map<string, Connection>();
  /** In the order in which they were opened. */
  private readonly unauthenticated = new Set<Connection>();

  constructor(most: number) {
    this.most = most;
  }

  /** Whether there is room for it; otherwise it is closed. */
  admit(socket: Socket): boolean {
    if (this.byPeer.size >= this.most && !this.makeRoom()) {
      socket.destroy();
      return false;
    }
    const peer = peerOf(socket);
    const connection = new Connection(socket);
    this.byPeer.set(peer, connection);
    this.unauthenticated.add(connection);
    socket.once("close", () => this.forget(peer, connection));
    // HTTP/2 and TLS report errors to their listeners; a connection that is reset before that must not end the process.
    socket.on("error", () => {});
    return true;
  }

  /** The connection of a call, by `call.getPeer()`. */
  of(peer: string): Connection | undefined {
    return this.byPeer.get(peer);
  }

  authenticated(connection: Connection): void {
    connection.isAuthenticated = true;
    this.unauthenticated.delete(connection);
  }

  closeAll(): void {
    for (const { socket } of this.byPeer.values()) socket.destroy();
  }

  private makeRoom(): boolean {
    for (const connection of this.unauthenticated) {
      this.forget(peerOf(connection.socket), connection);
      connection.socket.destroy();
      return true;
    }
    return false;
  }

  private forget(peer: string, connection: Connection): void {
    this.unauthenticated.delete(connection);
    if (this.byPeer.get(peer) === connection) this.byPeer.delete(peer);
  }
}

/** As grpc-js names the peer of a call. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
