import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { HeadgateError, StoreError } from "headgate";
import { RequestError } from "../../checks/request-error.ts";
import { DatabaseError } from "../../database/database-error.ts";
import { MalformedMessage, MessageWriter } from "./message-codec.ts";

/** Why a call failed, as reported in its status. */
export interface Failure {
  readonly code: status;
  readonly message: string;
  /** The invalid field; empty if there is none. */
  readonly field: string;
  /** A word for programs. */
  readonly reason: string;
  /** When to retry, if that helps. */
  readonly retryAfterMs?: number;
}

/** The store is probed at this interval. */
const STORE_RETRY_MS = 250;

export const UNAUTHENTICATED: Failure = {
  code: status.UNAUTHENTICATED,
  message: "a valid API key is required: send the metadata authorization: Bearer <key>",
  field: "",
  reason: "UNAUTHENTICATED",
};

export function wrongKeysFrom(retryAfterMs: number): Failure {
  const message = "too many wrong API keys from this address; retry later";
  return { code: status.RESOURCE_EXHAUSTED, message, field: "", reason: "WRONG_KEYS", retryAfterMs };
}

export function forbidden(role: string): Failure {
  const message = `the API key does not have the required role: ${role}`;
  return { code: status.PERMISSION_DENIED, message, field: "", reason: "ROLE_MISSING" };
}

export function overloaded(retryAfterMs: number, message = "the node is over capacity; retry later"): Failure {
  const failure = { code: status.RESOURCE_EXHAUSTED, message, field: "", reason: "SELF_LIMIT" };
  return Number.isFinite(retryAfterMs) ? { ...failure, retryAfterMs } : failure;
}

export const STOPPING: Failure = {
  code: status.UNAVAILABLE,
  message: "the node is shutting down; checks without a response were not charged: use another node",
  field: "",
  reason: "STOPPING",
};

export const MESSAGE_TIMEOUT: Failure = {
  code: status.DEADLINE_EXCEEDED,
  message: "the message did not arrive within grpc_message_timeout; nothing was charged",
  field: "",
  reason: "MESSAGE_TIMEOUT",
};

export const OPEN_MESSAGE: Failure = {
  code: status.RESOURCE_EXHAUSTED,
  message: "calls without a key may not send compressed messages or messages over 4 kB",
  field: "",
  reason: "OPEN_MESSAGE",
};

export const TOO_MANY_OPEN_CALLS: Failure = {
  code: status.RESOURCE_EXHAUSTED,
  message: "too many concurrent calls without a key on this connection",
  field: "",
  reason: "OPEN_CALLS",
};

/** The client does not receive it; it is used to count calls. */
export const CANCELLED: Failure = {
  code: status.CANCELLED,
  message: "the client has cancelled the call; nothing is reserved",
  field: "",
  reason: "CANCELLED",
};

/** Errors of reservations. */
const RESERVATIONS: Readonly<Record<string, status>> = {
  HG_UNKNOWN_RESERVATION: status.NOT_FOUND,
  HG_RESERVATION_SETTLED: status.FAILED_PRECONDITION,
  HG_RESERVATION_LOST: status.ABORTED,
};

/** The failure to report for an error; undefined if the error is a bug. */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof RequestError) {
    return { code: status.INVALID_ARGUMENT, message: error.message, field: error.field, reason: "BAD_FIELD" };
  }
  if (error instanceof MalformedMessage) {
    const message = `the message is not valid protobuf: ${error.message}`;
    return { code: status.INVALID_ARGUMENT, message, field: "", reason: "MALFORMED" };
  }
  if (error instanceof StoreError || error instanceof DatabaseError) {
    const { code, message } = error;
    return { code: status.UNAVAILABLE, message, field: "", reason: code, retryAfterMs: STORE_RETRY_MS };
  }
  if (!(error instanceof HeadgateError)) return undefined;
  const { code, message, field } = error;
  if (code === "HG_IDEMPOTENCY_CONFLICT") {
    return { code: status.ALREADY_EXISTS, message, field: "idempotency_key", reason: code };
  }
  if (Object.hasOwn(RESERVATIONS, code)) return { code: RESERVATIONS[code], message, field: "", reason: code };
  return { code: status.INVALID_ARGUMENT, message, field, reason: code };
}

/** The text of an internal error may contain private data, so only the log has it. */
export const INTERNAL: Failure = {
  code: status.INTERNAL,
  message: "internal error; see the log of the service",
  field: "",
  reason: "INTERNAL",
};

const TYPE = "type.googleapis.com/google.rpc.";
const DOMAIN = "headgate";

/** The error for grpc-js, with google.rpc.Status details that name the field. */
export function serviceError(failure: Failure): Pick<ServiceError, "code" | "details" | "metadata"> {
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", detailsOf(failure));
  return { code: failure.code, details: failure.message, metadata };
}

function detailsOf({ code, message, field, reason, retryAfterMs }: Failure): Buffer {
  const writer = new MessageWriter();
  return writer.encode(() => {
    writer.int64(1, code);
    writer.string(2, message);
    detail(writer, "ErrorInfo", () => {
      writer.string(1, reason);
      writer.string(2, DOMAIN);
    });
    if (field !== "") {
      detail(writer, "BadRequest", () => {
        writer.message(1, field, () => {
          writer.string(1, field);
          writer.string(2, message);
        });
      });
    }
    if (retryAfterMs !== undefined) {
      detail(writer, "RetryInfo", () => {
        writer.message(1, retryAfterMs, (ms) => {
          writer.int64(1, Math.floor(ms / 1000));
          writer.int64(2, Math.round((ms % 1000) * 1_000_000));
        });
      });
    }
  });
}

/** A google.protobuf.Any. */
function detail(writer: MessageWriter, type: string, write: () => void): void {
  writer.message(3, type, () => {
    writer.string(1, TYPE + type);
    writer.message(2, type, write);
  });
}
