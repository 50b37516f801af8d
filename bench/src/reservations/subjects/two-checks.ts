import { loadSharedSubject } from "../../redis/subjects/registry.ts";
import type { Step, StepOptions } from "./subject.ts";

/** Two plain checks of a limiter: the least it needs to charge an estimate and then the difference. */
export async function twoChecks(name: string, { url, limit }: StepOptions): Promise<Step> {
  const make = await loadSharedSubject(name);
  const checker = await make({ url, limit, windowMs: 60_000, limits: undefined });
  return async (key) => {
    for (let i = 0; i < 2; i += 1) {
      if (!checker.allowed(await checker.check(key))) throw new Error("the check was denied");
    }
  };
}
