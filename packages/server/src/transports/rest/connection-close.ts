import { type IncomingMessage, ServerResponse } from "node:http";

/**
 * Answers which from some time on say that the connection ends with them: also those to requests that were read
 * before. Who got one that does not say so might send the next request while the connection is closed.
 */
export function farewell(isClosing: () => boolean): typeof ServerResponse {
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    override writeHead(...args: [number, ...unknown[]]): this {
      if (isClosing()) this.setHeader("connection", "close");
      return Reflect.apply(super.writeHead, this, args);
    }
  };
}
