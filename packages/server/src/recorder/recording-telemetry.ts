import type { Telemetry } from "../metrics/telemetry.ts";
import type { Recorder } from "./recorder.ts";

type CheckTelemetry = Pick<Telemetry, "decided" | "transition" | "skew">;

/** Also records the decisions that were not made by the store. */
export function recordingTelemetry(telemetry: CheckTelemetry, recorder: Recorder): CheckTelemetry {
  return {
    decided: (request, result, seconds) => {
      telemetry.decided(request, result, seconds);
      recorder.decided(request, result);
    },
    transition: (...args) => telemetry.transition(...args),
    skew: (ms) => telemetry.skew(ms),
  };
}
