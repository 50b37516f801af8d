/** How the middleware accesses a request of a framework. */
export interface RequestAdapter<Request> {
  /**
   * The address of the peer, or of the client if the framework is configured to trust proxies. Undefined for a Unix
   * socket, or if the platform does not report it.
   */
  peer(request: Request): string | undefined;
  /** The address of the peer, if `peer` may return another. */
  connection?(request: Request): string | undefined;
  /** A header by its lower-case name. Repeated headers are joined with commas. */
  header(request: Request, name: string): string | undefined;
  /** Whether the framework is configured to trust every proxy. */
  trustsAll?(request: Request): boolean;
  /** The authenticated user, if the framework has a place for it. */
  user?(request: Request): string | undefined;
}
