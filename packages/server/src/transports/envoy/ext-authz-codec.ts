import type { BinaryReader } from "@bufbuild/protobuf/wire";
import { type MessageWriter, nextTag, readString, skip } from "../grpc/message-codec.ts";
import type { Header } from "./descriptor.ts";
import { nextIn, within, writeHeader } from "./rate-limit-codec.ts";

/** The client's request, as the ext_authz filter describes it. */
export interface AuthorizationRequest {
  method: string;
  path: string;
  /** The address of the client, as Envoy determined it; empty if it is not an IP address. */
  address: string;
  /** By name in lower case. */
  readonly headers: Map<string, string>;
  /** Set in the configuration of the route. */
  readonly extensions: Map<string, string>;
}

export function readAuthorizationRequest(reader: BinaryReader): AuthorizationRequest {
  const request: AuthorizationRequest = {
    method: "",
    path: "",
    address: "",
    headers: new Map(),
    extensions: new Map(),
  };
  for (let tag = nextTag(reader); tag !== 0; tag = nextTag(reader)) {
    if (tag === 10) within(reader, (reader, end) => readAttributes(reader, end, request));
    else skip(reader, tag);
  }
  return request;
}

function readAttributes(reader: BinaryReader, end: number, request: AuthorizationRequest): void {
  for (let tag = nextIn(reader, end); tag !== 0; tag = nextIn(reader, end)) {
    // source.address.socket_address
    if (tag === 10) request.address = readNested(reader, [10, 10], readSocketAddress) ?? "";
    // request.http
    else if (tag === 34) readNested(reader, [18], (reader, end) => readHttp(reader, end, request));
    else if (tag === 82) within(reader, (reader, end) => readPair(reader, end, request.extensions));
    else skip(reader, tag);
  }
}

/** Reads the message in a message whose tags are given, outermost first. */
function readNested<Value>(
  reader: BinaryReader,
  tags: readonly number[],
  read: (reader: BinaryReader, end: number) => Value,
): Value | undefined {
  const [wanted, ...further] = tags;
  return within(reader, (reader, end) => {
    let value: Value | undefined;
    for (let tag = nextIn(reader, end); tag !== 0; tag = nextIn(reader, end)) {
      if (tag !== wanted) skip(reader, tag);
      else value = further.length === 0 ? within(reader, read) : readNested(reader, further, read);
    }
    return value;
  });
}

function readSocketAddress(reader: BinaryReader, end: number): string {
  let address = "";
  for (let tag = nextIn(reader, end); tag !== 0; tag = nextIn(reader, end)) {
    if (tag === 18) address = readString(reader);
    else skip(reader, tag);
  }
  return address;
}

function readHttp(reader: BinaryReader, end: number, request: AuthorizationRequest): void {
  for (let tag = nextIn(reader, end); tag !== 0; tag = nextIn(reader, end)) {
    if (tag === 18) request.method = readString(reader);
    else if (tag === 26) within(reader, (reader, end) => readPair(reader, end, request.headers));
    else if (tag === 34) request.path = readString(reader);
    // header_map.headers
    else if (tag === 106) within(reader, (reader, end) => readHeaderMap(reader, end, request.headers));
    else skip(reader, tag);
  }
}

function readHeaderMap(reader: BinaryReader, end: number, headers: Map<string, string>): void {
  for (let tag = nextIn(reader, end); tag !== 0; tag = nextIn(reader, end)) {
    if (tag === 10) within(reader, (reader, end) => readPair(reader, end, headers));
    else skip(reader, tag);
  }
}

/** A key and a value; a header may have its value as bytes. Repeated headers are joined, as HTTP does. */
function readPair(reader: BinaryReader, end: number, pairs: Map<string, string>): void {
  let key = "";
  let value = "";
  for (let tag = nextIn(reader, end); tag !== 0; tag = nextIn(reader, end)) {
    if (tag === 10) key = readString(reader);
    else if (tag === 18) value = readString(reader);
    else if (tag === 26) value = Buffer.from(reader.bytes()).toString("utf8");
    else skip(reader, tag);
  }
  const name = key.toLowerCase();
  const before = pairs.get(name);
  pairs.set(name, before === undefined ? value : `${before}, ${value}`);
}

/** What the filter does with the request. */
export type AuthorizationAnswer =
  | { readonly allowed: true; readonly headers: readonly Header[] }
  | { readonly allowed: false; readonly status: number; readonly headers: readonly Header[]; readonly body: string };

/** google.rpc.Code of a denial. */
const PERMISSION_DENIED = 7;

export function writeAuthorizationAnswer(answer: AuthorizationAnswer, writer: MessageWriter): void {
  if (answer.allowed) {
    writer.message(1, 0, () => {});
    writer.message(3, answer.headers, (headers) => {
      for (const header of headers) writer.message(6, header, writeHeaderOption);
    });
    return;
  }
  writer.message(1, PERMISSION_DENIED, (code) => writer.int64(1, code));
  writer.message(2, answer, ({ status, headers, body }) => {
    writer.message(1, status, (status) => writer.int64(1, status));
    for (const header of headers) writer.message(2, header, writeHeaderOption);
    writer.string(3, body);
  });
}

function writeHeaderOption(header: Header, writer: MessageWriter): void {
  writer.message(1, header, writeHeader);
}
