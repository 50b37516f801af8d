import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { Writable } from "node:stream";
import type { Passed } from "../admission.ts";
import type { HeaderField } from "../headers/response-headers.ts";

/** A response of Node for HTTP/1 or HTTP/2. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** Sets headers on a response of Node. */
export function setHeaders(response: NodeResponse, fields: readonly HeaderField[]): void {
  for (const { name, value, list } of fields) {
    const before = list && response.getHeader(name);
    response.setHeader(name, before === undefined ? value : `${before}, ${value}`);
  }
}

/** Whether the client has disconnected. */
export function isAbandoned(response: NodeResponse): boolean {
  return carrier(response).destroyed && isCutShort(response);
}

/** Reports how the response ended, or immediately if the client has already disconnected. */
export function reportEnd(response: NodeResponse, passed: Passed): void {
  const report = (): void => {
    const status = response.headersSent ? response.statusCode : undefined;
    void passed.ended({ status, aborted: isCutShort(response) });
  };
  if (carrier(response).destroyed) report();
  else carrier(response).once("close", report);
}

/** The stream that carries the response: for HTTP/1, the response itself. */
function carrier(response: NodeResponse): Writable {
  return "stream" in response ? response.stream : response;
}

/** Whether a closed response was not sent completely. An HTTP/2 stream finishes in any case. */
function isCutShort(response: NodeResponse): boolean {
  if (!("stream" in response)) return !response.writableFinished;
  const { aborted, rstCode } = response.stream;
  return aborted || rstCode !== 0;
}
