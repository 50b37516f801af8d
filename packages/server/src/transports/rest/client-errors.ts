import type { Socket } from "node:net";
import { PROBLEM_TYPE, PROBLEMS, type ProblemCode, problemBody } from "./problem.ts";

/** Errors of Node's parser and timers, raised before there is a request. */
const CODES: Readonly<Record<string, ProblemCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
  HPE_HEADER_OVERFLOW: "headers_too_large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "body_too_large",
};

interface ClientError extends Error {
  readonly code?: string;
  /** The data read last: a buffer, although its type does not say so. */
  readonly rawPacket?: unknown;
}

/** Responds on the raw connection and closes it. */
export function answerClientError(error: ClientError, socket: Socket): void {
  // The connection is gone, or a response has already begun.
  if (error.code === "ECONNRESET" || !socket.writable || socket.bytesWritten > 0) {
    socket.destroy(error);
    return;
  }
  const code = codeOf(error);
  const body = JSON.stringify(problemBody(code));
  const head = [
    `HTTP/1.1 ${PROBLEMS[code].status} ${PROBLEMS[code].title}`,
    "Connection: close",
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

function codeOf({ code, rawPacket }: ClientError): ProblemCode {
  // The parser counts the request line as part of the headers.
  if (code === "HPE_HEADER_OVERFLOW" && beginsWithEndlessLine(rawPacket)) return "uri_too_long";
  return (code === undefined ? undefined : CODES[code]) ?? "malformed_request";
}

function beginsWithEndlessLine(packet: unknown): boolean {
  return Buffer.isBuffer(packet) && /^[A-Z]+ \S+$/.test(packet.subarray(0, 8_192).toString("latin1"));
}
