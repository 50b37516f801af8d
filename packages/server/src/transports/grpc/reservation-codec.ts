// The codec for messages about reservations. A test compares it with generated code.
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { ListedReservation } from "headgate/store";
import type { CheckResult } from "../../checks/check.ts";
import { DEFAULT_RESERVATION_MS, type ReserveRequest } from "../../checks/reservation-request.ts";
import { type ReservedFields, reservationFields } from "../shared/reservation-fields.ts";
import {
  dimensionNumber,
  readCheck,
  requireKnown,
  type WireCheck,
  type WireError,
  writeAnswer,
  writeError,
} from "./check-codec.ts";
import { type MessageWriter, nextTag, readInt64, readString, skip } from "./message-codec.ts";

/** A reservation as asked for. */
export interface WireReserve {
  readonly checks: readonly WireCheck[];
  readonly forMs: number;
  readonly maxWaitMs: number;
  idempotencyKey: string | undefined;
}

/** What is done with a reservation, as asked for. Each method uses some of the fields. */
export interface WireReservation {
  readonly id: string;
  readonly forMs: number;
  readonly costs: Readonly<Record<string, number>>;
}

export function readReserve(reader: BinaryReader): WireReserve {
  const checks: WireCheck[] = [];
  let forMs = DEFAULT_RESERVATION_MS;
  let maxWaitMs = 0;
  let idempotencyKey: string | undefined;
  for (let tag = nextTag(reader); tag !== 0; tag = nextTag(reader)) {
    // Its fields are some of those of a check.
    if (tag === 10) checks.push(readCheck(new BinaryReader(reader.bytes())));
    else if (tag === 16) forMs = readInt64(reader);
    else if (tag === 24) maxWaitMs = readInt64(reader);
    else if (tag === 34) idempotencyKey = readString(reader) || undefined;
    else skip(reader, tag);
  }
  return { checks, forMs, maxWaitMs, idempotencyKey };
}

export function readExtend(reader: BinaryReader): WireReservation {
  let id = "";
  let forMs = 0;
  for (let tag = nextTag(reader); tag !== 0; tag = nextTag(reader)) {
    if (tag === 10) id = readString(reader);
    else if (tag === 16) forMs = readInt64(reader);
    else skip(reader, tag);
  }
  return { id, forMs, costs: {} };
}

/** Also reads a release, which has only the id. */
export function readSettle(reader: BinaryReader): WireReservation {
  let id = "";
  const costs = new Map<string, number>();
  for (let tag = nextTag(reader); tag !== 0; tag = nextTag(reader)) {
    if (tag === 10) id = readString(reader);
    else if (tag === 18) costs.set(...readCost(new BinaryReader(reader.bytes())));
    else skip(reader, tag);
  }
  return { id, forMs: 0, costs: Object.fromEntries(costs) };
}

/** An entry of a map. */
function readCost(reader: BinaryReader): [string, number] {
  let rule = "";
  let cost = 0;
  for (let tag = nextTag(reader); tag !== 0; tag = nextTag(reader)) {
    if (tag === 10) rule = readString(reader);
    else if (tag === 16) cost = readInt64(reader);
    else skip(reader, tag);
  }
  return [rule, cost];
}

/** Reads the items of a batch, whose messages have them in their first field. */
export function readBatchOf<Item>(read: (reader: BinaryReader) => Item): (reader: BinaryReader) => Item[] {
  return (reader) => {
    const items: Item[] = [];
    for (let tag = nextTag(reader); tag !== 0; tag = nextTag(reader)) {
      if (tag === 10) items.push(read(new BinaryReader(reader.bytes())));
      else skip(reader, tag);
    }
    return items;
  };
}

/** Rejects checks with a missing or unknown dimension. */
export function reserveRequestOf(wire: WireReserve): Omit<ReserveRequest, "signal"> {
  const { checks, forMs, maxWaitMs, idempotencyKey } = wire;
  return {
    checks: checks.map((check, i) => {
      const { identifier, dimension, endpoint, method, cost } = check;
      requireKnown(dimension, `checks[${i}].dimension`);
      return { identifier, dimension, endpoint, method, cost };
    }),
    forMs,
    maxWaitMs,
    idempotencyKey,
  };
}

/** The result of a reservation that was asked for. */
interface Reserved {
  readonly result: CheckResult;
  readonly reservation: ListedReservation | undefined;
}

export function writeReserved({ result, reservation }: Reserved, writer: MessageWriter): void {
  writer.bool(1, result.allowed);
  if (result.allowed && reservation !== undefined) {
    const { reservation_id, expires_at_ms, reserved } = reservationFields(reservation);
    writer.string(2, reservation_id);
    writer.int64(3, expires_at_ms);
    for (const fields of reserved) writer.message(4, fields, writeQuotaFields);
  }
  writer.message(5, { result, withLimits: true }, writeAnswer);
}

function writeQuotaFields(
  { rule_id, identifier, dimension, cost, slots }: ReservedFields,
  writer: MessageWriter,
): void {
  writer.string(1, rule_id);
  writer.string(2, identifier);
  writer.int64(3, dimensionNumber(dimension));
  writer.int64(4, cost);
  writer.bool(5, slots);
}

export function writeExpiry(expiresAtMs: number, writer: MessageWriter): void {
  writer.int64(1, expiresAtMs);
}

/** Answers with a message each, in order, and then errors. One that failed has an empty message. */
export function writeAnswers<Answer>(
  answers: readonly (Answer | undefined)[],
  errors: readonly WireError[],
  writer: MessageWriter,
  write: (answer: Answer, writer: MessageWriter) => void,
): void {
  for (const answer of answers) {
    writer.message(1, answer, (answer, writer) => {
      if (answer !== undefined) write(answer, writer);
    });
  }
  for (const error of errors) writer.message(2, error, writeError);
}

export function writeErrors(errors: readonly WireError[], writer: MessageWriter): void {
  for (const error of errors) writer.message(1, error, writeError);
}
