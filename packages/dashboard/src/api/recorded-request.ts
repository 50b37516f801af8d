import type { RecordedRequest } from "headgate-simulator";
import type { RecordingPage } from "./types.ts";

/** A recorded request of the service, as the simulator decides it again. */
export function recordedRequest(request: RecordingPage["requests"][number]): RecordedRequest {
  const { time_ms, key, action, cost, allowed, remaining, idempotency_key } = request;
  return {
    time: Math.round(time_ms * 1000),
    key,
    action,
    cost,
    idempotencyKey: idempotency_key,
    answer: remaining === undefined ? undefined : { allowed, remaining },
  };
}
