import { HeadgateError, shown } from "../errors.ts";

/** How a request ended. */
export interface Ending {
  /** The status that was sent, if any. */
  readonly status: number | undefined;
  /** Whether the client disconnected before the response was complete. */
  readonly aborted: boolean;
}

type RefundCase = number | "2xx" | "3xx" | "4xx" | "5xx" | "aborted";

/**
 * When a charge is refunded: by status, if the client disconnected before any of the response was sent, or by a
 * function.
 */
export type RefundOn = RefundCase | readonly RefundCase[] | ((ending: Ending) => boolean);

export function requireRefundOn(refundOn: unknown, field = "refundOn"): (ending: Ending) => boolean {
  if (typeof refundOn === "function") return (ending) => refundOn(ending) === true;
  const cases: readonly unknown[] = Array.isArray(refundOn) ? refundOn : [refundOn];
  const tests = cases.map((each) => testOf(each, field));
  return (ending) => tests.some((test) => test(ending));
}

function testOf(refundCase: unknown, field: string): (ending: Ending) => boolean {
  // A client that has received part of the response must not get it for free by disconnecting early.
  if (refundCase === "aborted") return ({ status, aborted }) => aborted && status === undefined;
  if (refundCase === "4xx") return ({ status = 0 }) => status >= 400 && status < 500;
  if (refundCase === "5xx") return ({ status = 0 }) => status >= 500;
  if (refundCase === "2xx") return ({ status = 0 }) => status >= 200 && status < 300;
  if (refundCase === "3xx") return ({ status = 0 }) => status >= 300 && status < 400;
  if (typeof refundCase === "number" && Number.isInteger(refundCase) && refundCase >= 100 && refundCase < 600) {
    return ({ status }) => status === refundCase;
  }
  throw new HeadgateError(
    "HG_BAD_OPTION",
    field,
    `must be a function, or one of "2xx", "3xx", "4xx", "5xx", "aborted" and statuses such as 404, got ${shown(refundCase)}`,
  );
}
