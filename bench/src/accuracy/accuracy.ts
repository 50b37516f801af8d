import { writeFileSync } from "node:fs";
import { machine } from "../report/machine.ts";
import { outage } from "./outage.ts";
import { type OverAdmission, overAdmission } from "./over-admission.ts";
import { accuracyPage, type Measured } from "./page.ts";
import { subjects } from "./subjects.ts";

const PAGE = new URL("../../../docs/internals/accuracy.md", import.meta.url);
const PROCESSES = [1, 4, 8];

/** Measures every limiter, or those named, and writes docs/internals/accuracy.md unless only some were measured. */
export async function accuracy(
  names: readonly string[] | undefined,
  versions: readonly (readonly [name: string, version: string])[],
  say: (text: string) => void,
): Promise<string> {
  const before = machine();
  const measured: Measured[] = [];
  for (const { name } of subjects) {
    if (names !== undefined && !names.includes(name)) continue;
    const bursts: OverAdmission[] = [];
    for (const processes of PROCESSES) {
      bursts.push(await overAdmission(name, processes));
      say(`${name}, ${processes} processes: ${JSON.stringify(bursts.at(-1))}`);
    }
    const frozen = await outage(name, "frozen");
    say(`${name}, Redis frozen: ${JSON.stringify(frozen)}`);
    const killed = await outage(name, "killed");
    say(`${name}, Redis killed: ${JSON.stringify(killed)}`);
    measured.push({ name, bursts, frozen, killed });
  }
  const page = accuracyPage({ measured, machine: before, versions });
  if (names === undefined) writeFileSync(PAGE, page);
  return page;
}

/** Whose versions the page states. */
export const accuracyPackages: readonly string[] = [
  ...["headgate", "rate-limiter-flexible", "express-rate-limit", "rate-limit-redis"],
  ...["@upstash/ratelimit", "@upstash/redis", "bottleneck", "ioredis"],
];
