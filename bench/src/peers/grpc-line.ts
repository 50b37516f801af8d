import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Answered, Failed, Line } from "./line.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEAD = 9;
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;
/** Before each message: whether it is compressed, and its length. */
const MESSAGE_HEAD = 5;
const INITIAL_WINDOW = 65_535;
/** `:method: POST` and `:scheme: http` in the static table of HPACK. */
const METHOD_AND_SCHEME = [0x83, 0x86] as const;
/** The last five headers that the server has remembered. */
const REMEMBERED = [0x80 | 66, 0x80 | 65, 0x80 | 64, 0x80 | 63, 0x80 | 62] as const;
const KNOWN_HEADERS = frame(HEADERS, END_HEADERS, 0, Buffer.from([...METHOD_AND_SCHEME, ...REMEMBERED]));

/** Whether an answer admits; throws if it is none. */
export type ReadAnswer = (message: Buffer) => boolean;

/**
 * Unary gRPC calls over HTTP/2 without TLS. It does no more than servers require, because the HTTP/2 client of Node takes
 * longer for a call than most servers: it would be what is measured.
 */
export class GrpcLine implements Line {
  private readonly socket: Socket;
  private readonly readAnswer: ReadAnswer;
  private readonly failed: Failed;
  private readonly underWay = new Map<number, Answered>();
  private readonly answers = new Map<number, Buffer>();
  private headers: Buffer | undefined;
  private out: Buffer[] = [];
  private rest: Buffer | undefined;
  private nextStream = 1;
  /** Bytes of data that the server takes. */
  private window = INITIAL_WINDOW;
  /** Bytes of data that the server was not told to have arrived. */
  private unreported = 0;

  private constructor(socket: Socket, readAnswer: ReadAnswer, failed: Failed) {
    this.socket = socket;
    this.readAnswer = readAnswer;
    this.failed = failed;
    socket.on("data", (bytes) => this.read(bytes));
    socket.on("error", failed);
    socket.on("close", () => failed(new Error("the server closed a connection")));
    this.write(Buffer.from(PREFACE, "latin1"));
    this.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)));
  }

  static async connect(port: number, readAnswer: ReadAnswer, failed: Failed): Promise<GrpcLine> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    return new GrpcLine(socket, readAnswer, failed);
  }

  ask(request: Buffer, answered: Answered): void {
    const stream = this.nextStream;
    this.nextStream += 2;
    this.underWay.set(stream, answered);
    const dataAt = FRAME_HEAD + request.readUIntBE(0, 3);
    this.write(withStream(this.headersOf(request.subarray(0, dataAt)), stream));
    this.write(withStream(request.subarray(dataAt), stream));
    this.window -= request.readUIntBE(dataAt, 3);
    if (this.window < 0) this.failed(new Error("the server does not take as many requests at a time"));
  }

  close(): void {
    this.socket.removeAllListeners("close").destroy();
  }

  /** The server remembers the headers of the first request, so that later ones refer to them, as clients do. */
  private headersOf(headers: Buffer): Buffer {
    if (this.headers === undefined) {
      this.headers = headers;
      return headers;
    }
    if (!this.headers.equals(headers)) throw new Error("all requests of a connection must have the same headers");
    return KNOWN_HEADERS;
  }

  /** Everything of one turn of the event loop is sent at once. */
  private write(bytes: Buffer): void {
    if (this.out.length === 0) {
      process.nextTick(() => {
        this.socket.write(this.out.length === 1 ? this.out[0] : Buffer.concat(this.out));
        this.out = [];
      });
    }
    this.out.push(bytes);
  }

  private read(bytes: Buffer): void {
    const chunk = this.rest === undefined ? bytes : Buffer.concat([this.rest, bytes]);
    let at = 0;
    try {
      while (at + FRAME_HEAD <= chunk.length) {
        const end = at + FRAME_HEAD + chunk.readUIntBE(at, 3);
        if (end > chunk.length) break;
        this.readFrame(chunk[at + 3], chunk[at + 4], chunk.readUInt32BE(at + 5), chunk.subarray(at + FRAME_HEAD, end));
        at = end;
      }
    } catch (error) {
      this.failed(error instanceof Error ? error : new Error(String(error)));
    }
    this.rest = at < chunk.length ? chunk.subarray(at) : undefined;
  }

  private readFrame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === DATA) {
      this.report(payload.length);
      if (payload.length > 0) this.answers.set(stream, payload);
    }
    if ((type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0) this.end(stream, payload);
    else if (type === SETTINGS && (flags & ACK) === 0) this.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    else if (type === PING && (flags & ACK) === 0) this.write(frame(PING, ACK, 0, Buffer.from(payload)));
    else if (type === WINDOW_UPDATE && stream === 0) this.window += payload.readUInt32BE(0);
    else if (type === RST_STREAM || type === GOAWAY) {
      throw new Error(`the server ended a call or the connection: ${payload.toString("latin1")}`);
    }
  }

  private end(stream: number, trailers: Buffer): void {
    const answer = this.answers.get(stream);
    if (answer === undefined) throw new Error(`a call failed: ${trailers.toString("latin1")}`);
    const answered = this.underWay.get(stream);
    this.answers.delete(stream);
    this.underWay.delete(stream);
    answered?.(this.readAnswer(answer.subarray(MESSAGE_HEAD)));
  }

  private report(bytes: number): void {
    this.unreported += bytes;
    if (this.unreported < INITIAL_WINDOW / 2) return;
    const increment = Buffer.alloc(4);
    increment.writeUInt32BE(this.unreported);
    this.unreported = 0;
    this.write(frame(WINDOW_UPDATE, 0, 0, increment));
  }
}

/** A request whose stream is filled in when it is sent: a HEADERS and a DATA frame. */
export function grpcRequest(path: string, message: Uint8Array, authorization?: string): Buffer {
  const head = Buffer.alloc(MESSAGE_HEAD);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([
    frame(HEADERS, END_HEADERS, 0, headerBlock(path, authorization)),
    frame(DATA, END_STREAM, 0, Buffer.concat([head, message])),
  ]);
}

/** Headers as HPACK has them, without compression. The server is to remember five of them. */
function headerBlock(path: string, authorization: string | undefined): Buffer {
  const headers = [
    [":path", path],
    [":authority", "127.0.0.1"],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    authorization === undefined ? ["user-agent", "headgate-bench"] : ["authorization", authorization],
  ];
  const parts: Buffer[] = [Buffer.from(METHOD_AND_SCHEME)];
  for (const [name, value] of headers) parts.push(Buffer.from([0x40]), text(name), text(value));
  return Buffer.concat(parts);
}

function withStream(frame: Buffer, stream: number): Buffer {
  const copy = Buffer.from(frame);
  copy.writeUInt32BE(stream, 5);
  return copy;
}

function text(value: string): Buffer {
  if (value.length > 126) throw new Error("a header is longer than a length of one byte can tell");
  return Buffer.concat([Buffer.from([value.length]), Buffer.from(value, "latin1")]);
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
