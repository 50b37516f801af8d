import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";
import { RateLimiterService } from "./generated/headgate/v1/rate_limiter.ts";

type Bytes = MethodDefinition<Buffer, Buffer>;

function sameBytes(message: Buffer): Buffer {
  return message;
}

function inBytes({
  path,
  requestStream,
  responseStream,
}: Pick<Bytes, "path" | "requestStream" | "responseStream">): Bytes {
  return {
    path,
    requestStream,
    responseStream,
    requestSerialize: sameBytes,
    requestDeserialize: sameBytes,
    responseSerialize: sameBytes,
    responseDeserialize: sameBytes,
  };
}

/** headgate.v1.RateLimiter, whose messages the handlers read and write themselves. */
export const rateLimiter = {
  checkRateLimit: inBytes(RateLimiterService.checkRateLimit),
  getRemainingQuota: inBytes(RateLimiterService.getRemainingQuota),
  resetLimit: inBytes(RateLimiterService.resetLimit),
  checkRateLimitBatch: inBytes(RateLimiterService.checkRateLimitBatch),
  checkRateLimitStream: inBytes(RateLimiterService.checkRateLimitStream),
} satisfies ServiceDefinition;
