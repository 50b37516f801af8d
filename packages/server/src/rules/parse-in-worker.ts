import { inTurns } from "./cooperative-work.ts";
import { ofJsonParts } from "./json-chunks.ts";
import { OneAtATime } from "./one-at-a-time.ts";
import type { RuleInput } from "./rule.ts";
import type { FileProblem } from "./rules-file-error.ts";
import { ReplacementError, type ReplacementProblems } from "./rules-replacement.ts";
import { byteParts, textParts } from "./text-parts.ts";
import { askThread, type ThreadAnswer, type ThreadPart } from "./worker-call.ts";

/** Input of the thread besides the text. */
export interface RulesTextKind {
  /** Name of the YAML file for messages; absent if the text is the JSON of a replacement. */
  readonly file?: string;
}

/** What the parts of its answer are, as JSON; or why the replacement is rejected. */
export type FoundInText = "rules" | "problems" | ReplacementProblems;

/** The compiled file even when running from source, as in tests, because a thread cannot load TypeScript. */
const THREAD = new URL("../../dist/rules/parse-worker.js", import.meta.url);

/** A shorter text is parsed in less time than a thread takes to start. */
const MOST_HERE = 10_000;

/** Like parseRules, but in another thread. `signal` stops it. */
export async function parseAside(text: string, name: string, signal?: AbortSignal): Promise<readonly RuleInput[]> {
  // Only here: nodes without a rules file need no YAML parser.
  const [{ parseRules }, { RulesFileError }] = await Promise.all([
    import("./rules-file.ts"),
    import("./rules-file-error.ts"),
  ]);
  if (text.length <= MOST_HERE) return parseRules(text, name);
  const { answer, parts } = await ask({ file: name }, textParts(text), signal);
  if (answer === "rules") return inTurns(ofJsonParts<RuleInput>(parts));
  throw new RulesFileError(name, await inTurns(ofJsonParts<FileProblem>(parts)));
}

/** Like parseReplacement, but in another thread. `signal` stops it. */
export async function parseReplacementAside(body: Buffer, signal?: AbortSignal): Promise<readonly RuleInput[]> {
  const { answer, parts } = await ask({}, byteParts(body), signal);
  if (typeof answer === "object") throw new ReplacementError(answer);
  return inTurns(ofJsonParts<RuleInput>(parts));
}

/** A hundred thousand rules need less than half of this in any format. */
const LIMITS = { maxOldGenerationSizeMb: 2_048 };

/** One at a time, so that many large texts take no more memory than one. */
const threads = new OneAtATime();

function ask(
  kind: RulesTextKind,
  parts: Iterable<ThreadPart>,
  signal?: AbortSignal,
): Promise<ThreadAnswer<FoundInText>> {
  return threads.run(() => askThread<FoundInText>(THREAD, kind, { parts, signal, limits: LIMITS }), signal);
}
