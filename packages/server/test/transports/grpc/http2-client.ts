import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type SessionOptions } from "node:http2";
import { finallyDo } from "../finally-do.ts";

/** A connection as an attacker would use it: HTTP/2 without a gRPC library. */
export async function rawSession(address: string, options: SessionOptions = {}): Promise<ClientHttp2Session> {
  const session = hastySession(address, options);
  await once(session, "remoteSettings");
  return session;
}

/** A client that has not received the server's settings yet. */
export function hastySession(address: string, options: SessionOptions = {}): ClientHttp2Session {
  // Node would refuse answers while much of its own is waiting to be sent.
  const session = connect(`http://${address}`, { maxSessionMemory: 4_000, ...options });
  session.on("error", () => {});
  finallyDo(() => session.destroy());
  return session;
}

export interface RawCall {
  readonly stream: ClientHttp2Stream;
  /** gRPC's status, or HTTP/2's reason for closing the stream without one. */
  readonly outcome: Promise<string>;
  /** The code that the stream was closed with. */
  readonly closed: Promise<number>;
}

/** Begins a call, and sends nothing but its headers. */
export function rawCall(session: ClientHttp2Session, path: string, authorization?: string): RawCall {
  const stream = session.request(
    {
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...(authorization !== undefined && { authorization }),
    },
    { endStream: false },
  );
  const outcome = new Promise<string>((resolve) => {
    const take = (headers: object): void => {
      if ("grpc-status" in headers) resolve(String(headers["grpc-status"]));
    };
    stream.on("response", take).on("trailers", take);
    stream.on("error", (error: NodeJS.ErrnoException) => resolve(String(error.code)));
    stream.on("close", () => resolve(`closed ${stream.rstCode}`));
  });
  const closed = new Promise<number>((resolve) => {
    stream.on("close", () => resolve(stream.rstCode));
  });
  stream.resume();
  return { stream, outcome, closed };
}

/** The prefix and body of a message, as far as they are sent. */
export function frame(length: number, sent = length, flag = 0): Buffer {
  const bytes = Buffer.alloc(5 + sent);
  bytes.writeUInt8(flag, 0);
  bytes.writeUInt32BE(length, 1);
  return bytes;
}
