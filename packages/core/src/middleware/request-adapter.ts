/** How a framework shows a request: all that the gate needs to know of it. */
export interface RequestAdapter<Request> {
  /**
   * The address at the other end of the connection, or the client's where the framework was told whose word to take
   * for it; none over a Unix socket, or where the platform does not tell.
   */
  peer(request: Request): string | undefined;
  /** The address at the other end of the connection, where `peer` may be another. */
  connection?(request: Request): string | undefined;
  /** A header by its name in lower case; several of one name are joined by commas. */
  header(request: Request, name: string): string | undefined;
  /** Whether the framework was told to take everybody's word for the client's address. */
  believesAll?(request: Request): boolean;
  /** Whoever was authenticated, if the framework has a place for him. */
  user?(request: Request): string | undefined;
}
