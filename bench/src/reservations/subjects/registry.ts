import { FLEXIBLE, RATE_LIMIT_REDIS } from "../../redis/subjects/registry.ts";
import { HEADGATE } from "../../suite.ts";
import type { Step, StepOptions } from "./subject.ts";
import { twoChecks } from "./two-checks.ts";

const BOTTLENECK = "bottleneck";
const SEMAPHORE = "redis-semaphore";

type Make = (options: StepOptions) => Promise<Step>;

/** By what is measured. Each process loads only what it measures. */
export const steps: Readonly<Record<"settle" | "slots", Readonly<Record<string, Make>>>> = {
  settle: {
    [HEADGATE]: async (options) => (await import("./headgate-reserve.ts")).make(options),
    [FLEXIBLE]: (options) => twoChecks(FLEXIBLE, options),
    [RATE_LIMIT_REDIS]: (options) => twoChecks(RATE_LIMIT_REDIS, options),
  },
  slots: {
    [HEADGATE]: async (options) => (await import("./headgate-slots.ts")).make(options),
    [BOTTLENECK]: async (options) => (await import("./bottleneck.ts")).make(options),
    [SEMAPHORE]: async (options) => (await import("./redis-semaphore.ts")).make(options),
  },
};
