import { constants, type ServerHttp2Stream } from "node:http2";
import { Duplex } from "node:stream";
import type { ServerInterceptingCallInterface } from "@grpc/grpc-js";

/**
 * The HTTP/2 stream of a call. grpc-js has no public API to see how much of a message has arrived, or to tell a client
 * to stop sending one that was rejected. This is the only file that uses its internals.
 */
export function streamOf(call: ServerInterceptingCallInterface): ServerHttp2Stream {
  const stream: unknown = "stream" in call ? call.stream : undefined;
  if (!isHttp2Stream(stream)) throw new Error("this version of grpc-js does not expose the HTTP/2 stream of a call");
  return stream;
}

/** How long the trailers of a stream may take to be sent before it is cut. */
const TRAILERS_MS = 1_000;

/**
 * Ends a stream whose status has been sent while the client may still be sending; otherwise grpc-js would keep reading.
 * `isTrailersOnly`: the status was the whole response.
 */
export function endStream(stream: ServerHttp2Stream, isTrailersOnly: boolean): void {
  if (stream.closed || stream.destroyed) return;
  // RST_STREAM asks the client to stop sending (RFC 9113, section 8.1), after the status. If the stream is closed in
  // the same tick, Node 26 drops the status; by the time of an immediate it has been sent.
  if (isTrailersOnly) setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
  // Node would send the reset before the trailers.
  else setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), TRAILERS_MS).unref();
}

function isHttp2Stream(value: unknown): value is ServerHttp2Stream {
  return value instanceof Duplex && "rstCode" in value;
}
