import type { Socket } from "node:net";

/** One client connection. */
export class Connection {
  readonly socket: Socket;
  /** Whether it has presented a valid key. */
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
    // Servers report errors to their listeners; a connection that is reset before that must not end the process.
    socket.on("error", () => {});
    return true;
  }

  /** The connection of a peer, as `call.getPeer()` names it. */
  of(peer: string): Connection | undefined {
    return this.byPeer.get(peer);
  }

  /** The connection of a socket, with TLS on either side of it. */
  ofSocket(socket: Socket): Connection | undefined {
    return this.byPeer.get(peerOf(socket));
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

/** Names of connections over a Unix socket, which have no address. */
const unixPeers = new WeakMap<Socket, string>();
let unixConnections = 0;

/** As grpc-js names the peer of a call. */
function peerOf(socket: Socket): string {
  const { remoteAddress, remotePort } = socket;
  if (remoteAddress !== undefined) return `${remoteAddress}:${remotePort}`;
  let name = unixPeers.get(socket);
  if (name === undefined) {
    unixConnections += 1;
    name = `unix:${unixConnections}`;
    unixPeers.set(socket, name);
  }
  return name;
}
