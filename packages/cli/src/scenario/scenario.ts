import { HeadgateError } from "headgate";
import { FileMembers } from "../config/file-members.ts";
import { findConfig } from "../config/find-config.ts";
import { decisionLine } from "../decision/decision-line.ts";
import { Output } from "../decision/output.ts";
import { UserLimiter } from "../decision/user-limiter.ts";
import { type ExitCode, exitCodes, InvalidInput } from "../failure.ts";
import { openSource, type Source } from "../input/source.ts";
import { ObjectStream } from "../json/object-stream.ts";
import { Progress } from "./progress.ts";
import { readRequest } from "./scenario-request.ts";

export interface ScenarioOptions {
  readonly file?: string;
  readonly failOnDeny?: true;
}

/** `headgate scenario`: decides all requests of a file in order, with memory that does not grow with their number. */
export async function scenario({ file, failOnDeny }: ScenarioOptions): Promise<ExitCode> {
  if (file === undefined) throw new InvalidInput("--file: is required");
  const source = await openSource(file, "--file");
  try {
    const limiter = new UserLimiter(await findConfig(source));
    const denied = await decideAll(source, limiter);
    return failOnDeny && denied > 0 ? exitCodes.denied : exitCodes.done;
  } finally {
    await source.close();
  }
}

/** Writes one line per request. Returns the number of denied requests. */
async function decideAll(source: Source, limiter: UserLimiter): Promise<number> {
  const output = new Output(process.stdout);
  const progress = new Progress(process.stderr, source.size);
  const members = new FileMembers("a scenario", ["config", "requests"]);
  let decided = 0;
  let denied = 0;
  let bytes = 0;
  const stream = new ObjectStream(source.name, {
    member: (name) => (members.add(name) === "requests" ? "elements" : "skip"),
    value: (name) => {
      throw new InvalidInput(`${name}: must be an array`);
    },
    element: (value, index) => {
      try {
        const { user, time, cost } = readRequest(value, index);
        const decision = limiter.decide(user, time, cost);
        if (!decision.allowed) denied += 1;
        output.add(decisionLine(user, time, decision));
      } catch (error) {
        throw error instanceof HeadgateError ? new InvalidInput(`requests[${index}].${error.message}`) : error;
      }
      decided = index + 1;
    },
  });
  try {
    for await (const piece of source.read()) {
      stream.write(piece);
      bytes += piece.length;
      progress.erase();
      await output.flush();
      progress.show(decided, bytes);
    }
    stream.end();
    if (!members.has("requests")) throw new InvalidInput("requests: is missing");
  } finally {
    progress.erase();
    await output.flush();
  }
  return denied;
}
