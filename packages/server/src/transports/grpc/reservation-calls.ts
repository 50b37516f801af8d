import type { BinaryReader } from "@bufbuild/protobuf/wire";
import type { Metadata } from "@grpc/grpc-js";
import type { Principal } from "../../access/key-ring.ts";
import { RequestError } from "../../checks/request-error.ts";
import { weightOfReservation } from "../../checks/reservation-request.ts";
import type { ReservationService, ReserveResult } from "../../checks/reservation-service.ts";
import { inTurns, type Work } from "../../rules/cooperative-work.ts";
import type { WireError } from "./check-codec.ts";
import type { Access } from "./grpc-access.ts";
import type { Failure } from "./grpc-status.ts";
import { rejectKeyInMetadata, requireNoKeyInMetadata, useKeyOfMetadata } from "./idempotency-metadata.ts";
import { decode, MessageWriter } from "./message-codec.ts";
import {
  readBatchOf,
  readExtend,
  readReserve,
  readSettle,
  reserveRequestOf,
  type WireReservation,
  type WireReserve,
  writeAnswers,
  writeErrors,
  writeExpiry,
  writeReserved,
} from "./reservation-codec.ts";

const MOST_RESERVATIONS = 1_000;

export type Reserving = Pick<ReservationService, "reserve" | "extend" | "settle" | "release">;

/** Makes a response from the bytes of a request. The signal aborts when the client no longer waits. */
export type ReservationCall = (
  message: Buffer,
  principal: Principal,
  metadata: Metadata,
  signal: AbortSignal,
) => Promise<Buffer>;

/** How a method reads a reservation, what it does with it, and how it writes the results of one and of many. */
interface Method<Item, Answer> {
  readonly read: (reader: BinaryReader) => Item;
  /** Uses or rejects an idempotency key in the metadata of a call with one item. */
  readonly useMetadata: (item: Item, metadata: Metadata) => void;
  /** Rejects one in the metadata of a call with many. */
  readonly rejectMetadata: (metadata: Metadata) => void;
  /** How many ordinary checks it counts as in the limit on checks. */
  readonly weight: (item: Item) => number;
  readonly ask: (item: Item, principal: Principal, signal: AbortSignal) => Promise<Answer>;
  readonly write: (answer: Answer, writer: MessageWriter) => void;
  readonly writeMany: (
    answers: readonly (Answer | undefined)[],
    errors: readonly WireError[],
    writer: MessageWriter,
  ) => void;
}

/** The methods for reservations, each for one and for many. */
export class ReservationCalls {
  readonly #access: Access;
  readonly #failureOf: (error: unknown) => Failure;
  readonly #writer = new MessageWriter();
  readonly reserve: ReservationCall;
  readonly reserveBatch: ReservationCall;
  readonly extend: ReservationCall;
  readonly extendBatch: ReservationCall;
  readonly settle: ReservationCall;
  readonly settleBatch: ReservationCall;
  readonly release: ReservationCall;
  readonly releaseBatch: ReservationCall;

  constructor(reservations: Reserving, access: Access, failureOf: (error: unknown) => Failure) {
    this.#access = access;
    this.#failureOf = failureOf;
    const reserve: Method<WireReserve, ReserveResult> = {
      read: readReserve,
      useMetadata: useKeyOfMetadata,
      rejectMetadata: requireNoKeyInMetadata,
      weight: ({ checks }) => weightOfReservation(checks),
      ask: async (wire, principal, signal) => reservations.reserve({ ...reserveRequestOf(wire), signal }, principal),
      write: writeReserved,
      writeMany: (answers, errors, writer) => writeAnswers(answers, errors, writer, writeReserved),
    };
    const extend: Method<WireReservation, number> = {
      read: readExtend,
      ...withoutKey,
      weight: one,
      ask: async ({ id, forMs }, principal) => {
        const { deadlineMs } = await reservations.extend(id, forMs, principal);
        return Math.ceil(deadlineMs);
      },
      write: writeExpiry,
      writeMany: (answers, errors, writer) => writeAnswers(answers, errors, writer, writeExpiry),
    };
    const ending = (ask: (wire: WireReservation, principal: Principal) => Promise<unknown>) => ({
      read: readSettle,
      ...withoutKey,
      weight: one,
      ask,
      write: () => {},
      writeMany: (_: unknown, errors: readonly WireError[], writer: MessageWriter) => writeErrors(errors, writer),
    });
    const settle = ending(({ id, costs }, principal) => reservations.settle(id, costs, principal));
    const release = ending(({ id }, principal) => reservations.release(id, principal));
    this.reserve = this.#single(reserve);
    this.reserveBatch = this.#batch(reserve);
    this.extend = this.#single(extend);
    this.extendBatch = this.#batch(extend);
    this.settle = this.#single(settle);
    this.settleBatch = this.#batch(settle);
    this.release = this.#single(release);
    this.releaseBatch = this.#batch(release);
  }

  #single<Item, Answer>({ read, useMetadata, weight, ask, write }: Method<Item, Answer>): ReservationCall {
    return async (message, principal, metadata, signal) => {
      const item = decode(read, message);
      this.#access.requireRoom(weight(item));
      useMetadata(item, metadata);
      const answer = await ask(item, principal, signal);
      return this.#writer.encode(() => write(answer, this.#writer));
    };
  }

  #batch<Item, Answer>({ read, rejectMetadata, weight, ask, writeMany }: Method<Item, Answer>): ReservationCall {
    const readAll = readBatchOf(read);
    return async (message, principal, metadata, signal) => {
      rejectMetadata(metadata);
      const items = decode(readAll, message);
      if (items.length > MOST_RESERVATIONS) {
        const problem = `must have at most ${MOST_RESERVATIONS} items in a message, got ${items.length}`;
        throw new RequestError("reservations", problem);
      }
      this.#access.requireRoom(items.reduce((sum, item) => sum + weight(item), 0));
      const errors: WireError[] = [];
      const askOne = async (item: Item, index: number): Promise<Answer | undefined> => {
        try {
          return await ask(item, principal, signal);
        } catch (error) {
          const { code, message, field } = this.#failureOf(error);
          errors.push({ index, code, message, field });
          return undefined;
        }
      };
      const answers = await Promise.all(await inTurns(startEach(items, askOne)));
      return this.#writer.encode(() => writeMany(answers, errors, this.#writer));
    };
  }
}

/** Calls that can be repeated anyway. */
const withoutKey = {
  useMetadata: (_: unknown, metadata: Metadata) => rejectKeyInMetadata(metadata),
  rejectMetadata: rejectKeyInMetadata,
};

function one(): number {
  return 1;
}

function* startEach<Item, Answer>(
  items: readonly Item[],
  start: (item: Item, index: number) => Promise<Answer>,
): Work<Promise<Answer>[]> {
  const started: Promise<Answer>[] = [];
  for (const [i, item] of items.entries()) {
    started.push(start(item, i));
    yield;
  }
  return started;
}
