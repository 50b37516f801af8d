import { CHECK } from "./rest-requests.ts";

/** Number of checks in a batch or a stream message. */
export const CHECKS_IN_A_MESSAGE = 100;
const USERS = 1_000;

export const METHODS = {
  unary: "/headgate.v1.RateLimiter/CheckRateLimit",
  batch: "/headgate.v1.RateLimiter/CheckRateLimitBatch",
  stream: "/headgate.v1.RateLimiter/CheckRateLimitStream",
} as const;

/** Passes bytes through, so that the client's codec is not part of the figures. */
export function sameBytes(message: Buffer): Buffer {
  return message;
}

/** A CheckRateLimitRequest for each of the users. */
export function checksOf(endpoint: string): readonly Buffer[] {
  return Array.from({ length: USERS }, (_, user) =>
    Buffer.concat([text(1, `user-${user}`), Buffer.from([0x10, 1]), text(3, endpoint)]),
  );
}

/** Messages with many checks, which are field 1 of a batch and field 2 of a stream message. */
export function messagesOf(checks: readonly Buffer[], field: 1 | 2): readonly Buffer[] {
  const messages: Buffer[] = [];
  for (let from = 0; from < checks.length; from += CHECKS_IN_A_MESSAGE) {
    messages.push(Buffer.concat(checks.slice(from, from + CHECKS_IN_A_MESSAGE).map((check) => bytes(field, check))));
  }
  return messages;
}

/** Whether a response, or the first one of a message, is correct. */
export function isRight(answer: Buffer, shape: keyof typeof METHODS, isDenied: boolean): boolean {
  // `allowed` is the first field, and is absent if false.
  const start = shape === "unary" ? 0 : 2;
  const allowed = answer[start] === 0x08 && answer[start + 1] === 1;
  return answer.length > start + 2 && allowed === !isDenied;
}

export const ENDPOINTS = { allowed: CHECK.allowed, denied: CHECK.denied } as const;

function text(field: number, value: string): Buffer {
  return bytes(field, Buffer.from(value));
}

function bytes(field: number, value: Buffer): Buffer {
  if (value.length > 127) throw new Error("a check is longer than a length of one byte can tell");
  return Buffer.concat([Buffer.from([(field << 3) | 2, value.length]), value]);
}
