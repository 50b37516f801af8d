import type { BinaryReader } from "@bufbuild/protobuf/wire";
import { RequestError } from "../../checks/request-error.ts";
import { type MessageWriter, nextTag, readString, skip } from "../grpc/message-codec.ts";
import {
  type CallLimit,
  type Descriptor,
  type DescriptorStatus,
  type Entry,
  type Header,
  type RateLimitAnswer,
  type RateLimitRequest,
  UNIT_NAMES,
  UNITS,
  type Unit,
} from "./descriptor.ts";

/** The numbers of the codes; 0 is unknown. */
const CODES = { OK: 1, OVER_LIMIT: 2 } as const;
/** The largest number of most fields. */
const MOST_UINT32 = 2 ** 32 - 1;

export function readRateLimitRequest(reader: BinaryReader): RateLimitRequest {
  let domain = "";
  let hits = 0;
  const descriptors: Descriptor[] = [];
  for (let tag = nextTag(reader); tag !== 0; tag = nextTag(reader)) {
    if (tag === 10) domain = readString(reader);
    else if (tag === 18) descriptors.push(within(reader, readDescriptor));
    else if (tag === 24) hits = reader.uint32();
    else skip(reader, tag);
  }
  return { domain, descriptors, hits };
}

function readDescriptor(reader: BinaryReader, end: number): Descriptor {
  const entries: Entry[] = [];
  let limit: CallLimit | undefined;
  let hits: number | undefined;
  let isRefund = false;
  for (let tag = nextIn(reader, end); tag !== 0; tag = nextIn(reader, end)) {
    if (tag === 10) entries.push(within(reader, readEntry));
    else if (tag === 18) limit = within(reader, readLimit);
    else if (tag === 26) hits = within(reader, readUint64Value);
    else if (tag === 32) isRefund = reader.bool();
    else skip(reader, tag);
  }
  return { entries, limit, hits, isRefund };
}

function readEntry(reader: BinaryReader, end: number): Entry {
  let key = "";
  let value = "";
  for (let tag = nextIn(reader, end); tag !== 0; tag = nextIn(reader, end)) {
    if (tag === 10) key = readString(reader);
    else if (tag === 18) value = readString(reader);
    else skip(reader, tag);
  }
  return { key, value };
}

function readLimit(reader: BinaryReader, end: number): CallLimit {
  let requestsPerUnit = 0;
  let unit = 0;
  for (let tag = nextIn(reader, end); tag !== 0; tag = nextIn(reader, end)) {
    if (tag === 8) requestsPerUnit = reader.uint32();
    else if (tag === 16) unit = reader.uint32();
    else skip(reader, tag);
  }
  return { requestsPerUnit, unit: unitOf(unit) };
}

export function unitOf(number: number): Unit {
  const unit = UNIT_NAMES.find((name) => UNITS[name].number === number);
  if (unit === undefined)
    throw new RequestError("limit.unit", "must be SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR");
  return unit;
}

function readUint64Value(reader: BinaryReader, end: number): number {
  let value = 0;
  for (let tag = nextIn(reader, end); tag !== 0; tag = nextIn(reader, end)) {
    if (tag === 8) value = hitsOf(reader.uint64());
    else skip(reader, tag);
  }
  return value;
}

export function hitsOf(given: bigint | string | number): number {
  const value = Number(given);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RequestError("hits_addend", "must be a whole number from 0 to 2^53 - 1");
  }
  return value;
}

/** Reads a nested message. */
export function within<Value>(reader: BinaryReader, read: (reader: BinaryReader, end: number) => Value): Value {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > reader.len) throw new RangeError("a message ends before its fields");
  const value = read(reader, end);
  if (reader.pos !== end) throw new RangeError("a field is longer than its message");
  return value;
}

export function nextIn(reader: BinaryReader, end: number): number {
  return reader.pos >= end ? 0 : nextTag(reader);
}

export function writeRateLimitAnswer(answer: RateLimitAnswer, writer: MessageWriter): void {
  writer.number(1, CODES[answer.code]);
  for (const status of answer.statuses) writer.message(2, status, writeStatus);
  for (const header of answer.headers) writer.message(3, header, writeHeader);
  writer.string(5, answer.body);
}

function writeStatus(status: DescriptorStatus, writer: MessageWriter): void {
  const { code, limit, remaining, resetSeconds } = status;
  writer.number(1, CODES[code]);
  if (limit !== undefined) {
    writer.message(2, limit, ({ requestsPerUnit, unit, name }) => {
      writer.int64(1, Math.min(requestsPerUnit, MOST_UINT32));
      writer.int64(2, unit === undefined ? 0 : UNITS[unit].number);
      writer.string(3, name);
    });
  }
  writer.int64(3, remaining);
  if (resetSeconds !== undefined) writer.message(4, resetSeconds, (seconds) => writer.int64(1, seconds));
}

export function writeHeader({ name, value }: Header, writer: MessageWriter): void {
  writer.string(1, name);
  writer.string(2, value);
}
