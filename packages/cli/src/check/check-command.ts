import { timeFromSeconds } from "headgate";
import { type Config, readConfig } from "../config/limits-config.ts";
import { decisionLine } from "../decision/decision-line.ts";
import { UserLimiter } from "../decision/user-limiter.ts";
import { type ExitCode, exitCodes, InvalidInput } from "../failure.ts";

export interface CheckOptions {
  readonly user?: string;
  readonly time?: string;
  readonly config?: string;
  readonly failOnDeny?: true;
}

/** `headgate check`: decides one request of one user against an unused quota. */
export async function check({ user, time, config, failOnDeny }: CheckOptions): Promise<ExitCode> {
  if (user === undefined) throw new InvalidInput("--user: is required");
  if (user === "") throw new InvalidInput("--user: must not be empty");
  const seconds = time === undefined ? Date.now() / 1000 : readSeconds(time);
  const limiter = new UserLimiter(await configFrom(config));
  const decision = limiter.decide(user, seconds);
  process.stdout.write(decisionLine(user, seconds, decision));
  return failOnDeny && !decision.allowed ? exitCodes.denied : exitCodes.done;
}

// `Number` alone would also accept "", " 5" and "0x10".
function readSeconds(text: string): number {
  const seconds = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(seconds))
    throw new InvalidInput(`--time: must be a number of seconds, got ${JSON.stringify(text)}`);
  timeFromSeconds(seconds, "--time");
  return seconds;
}

async function configFrom(path: string | undefined): Promise<Config> {
  if (path === undefined) return readConfig({});
  // Loaded only when there is a file to read: most checks have none, and start-up time dominates their cost.
  const [{ openSource }, { readConfigFile }] = await Promise.all([
    import("../input/source.ts"),
    import("../config/find-config.ts"),
  ]);
  const source = await openSource(path, "--config");
  try {
    return await readConfigFile(source);
  } finally {
    await source.close();
  }
}
