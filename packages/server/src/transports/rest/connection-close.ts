import { type IncomingMessage, ServerResponse } from "node:http";

/**
 * Responses that close their connection once the node is shutting down, including responses to requests that were read
 * earlier. Without `Connection: close`, a client might send its next request on a connection that is being closed.
 */
export function farewell(isClosing: () => boolean): typeof ServerResponse {
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    override writeHead(...args: [number, ...unknown[]]): this {
      if (isClosing()) this.setHeader("connection", "close");
      return Reflect.apply(super.writeHead, this, args);
    }
  };
}
