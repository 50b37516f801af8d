import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { Writable } from "node:stream";
import type { Passed } from "../admission.ts";
import type { HeaderField } from "../headers/response-headers.ts";

/** A response of Node's, whatever the version of HTTP. */
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** Sets headers on a response of Node's. */
export function setHeaders(response: NodeResponse, fields: readonly HeaderField[]): void {
  for (const { name, value, list } of fields) {
    const before = list && response.getHeader(name);
    response.setHeader(name, before === undefined ? value : `${before}, ${value}`);
  }
}

/** Whether the client has left, so that nobody waits for an answer. */
export function isAbandoned(response: NodeResponse): boolean {
  return carrier(response).destroyed && isCutShort(response);
}

/** Tells an admission how its response ended, once it has; at once if the client has left before. */
export function tellEnd(response: NodeResponse, passed: Passed): void {
  const tell = (): void => {
    const status = response.headersSent ? response.statusCode : undefined;
    void passed.ended({ status, aborted: isCutShort(response) });
  };
  if (carrier(response).destroyed) tell();
  else carrier(response).once("close", tell);
}

/** What carries the response: over HTTP/1, itself. */
function carrier(response: NodeResponse): Writable {
  return "stream" in response ? response.stream : response;
}

/** Whether a response that is closed was not sent whole. A stream of HTTP/2 finishes in any case. */
function isCutShort(response: NodeResponse): boolean {
  if (!("stream" in response)) return !response.writableFinished;
  const { aborted, rstCode } = response.stream;
  return aborted || rstCode !== 0;
}
