import type { MethodDefinition } from "@grpc/grpc-js";
import { type MethodName, pathOf } from "./method-roles.ts";

function sameBytes(message: Buffer): Buffer {
  return message;
}

function inBytes(name: MethodName, isStream = false): MethodDefinition<Buffer, Buffer> {
  return {
    path: pathOf(name),
    requestStream: isStream,
    responseStream: isStream,
    requestSerialize: sameBytes,
    requestDeserialize: sameBytes,
    responseSerialize: sameBytes,
    responseDeserialize: sameBytes,
  };
}

/** headgate.v1.RateLimiter. Its handlers decode and encode the messages. */
export const rateLimiter = {
  checkRateLimit: inBytes("CheckRateLimit"),
  getRemainingQuota: inBytes("GetRemainingQuota"),
  resetLimit: inBytes("ResetLimit"),
  checkRateLimitBatch: inBytes("CheckRateLimitBatch"),
  checkRateLimitStream: inBytes("CheckRateLimitStream", true),
  refund: inBytes("Refund"),
  penalize: inBytes("Penalize"),
  reserve: inBytes("Reserve"),
  reserveBatch: inBytes("ReserveBatch"),
  extend: inBytes("Extend"),
  extendBatch: inBytes("ExtendBatch"),
  settle: inBytes("Settle"),
  settleBatch: inBytes("SettleBatch"),
  release: inBytes("Release"),
  releaseBatch: inBytes("ReleaseBatch"),
};
