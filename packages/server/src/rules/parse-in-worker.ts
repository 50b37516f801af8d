import { inTurns } from "./cooperative-work.ts";
import { ofJsonParts } from "./json-chunks.ts";
import type { RuleInput } from "./rule.ts";
import { type FileProblem, parseRules, RulesFileError } from "./rules-file.ts";
import { ReplacementError, type ReplacementProblems } from "./rules-replacement.ts";
import { askThread } from "./worker-call.ts";

/** What the thread is given. */
export interface RulesText {
  readonly text: string;
  /** What messages call the file, which is YAML; absent: it is the JSON of a replacement. */
  readonly file?: string;
}

/** What it answers, one of these. Lists that may be long come in parts of JSON. */
export interface FoundInText {
  readonly rules?: readonly string[];
  readonly problems?: readonly string[];
  readonly refused?: ReplacementProblems;
}

/** The compiled one also where the sources run, as in tests: a thread reads no TypeScript. */
const THREAD = new URL("../../dist/rules/parse-worker.js", import.meta.url);

/** A text of so many characters is read in less time than a thread takes to start. */
const MOST_HERE = 10_000;

/** As parseRules, while this thread serves others. `signal` gives it up. */
export async function parseAside(text: string, name: string, signal?: AbortSignal): Promise<readonly RuleInput[]> {
  if (text.length <= MOST_HERE) return parseRules(text, name);
  const { rules, problems } = await ask({ text, file: name }, signal);
  if (rules !== undefined) return inTurns(ofJsonParts<RuleInput>(rules));
  throw new RulesFileError(name, await inTurns(ofJsonParts<FileProblem>(problems ?? [])));
}

/** As parseReplacement, while this thread serves others. `signal` gives it up. */
export async function parseReplacementAside(text: string, signal?: AbortSignal): Promise<readonly RuleInput[]> {
  const { rules, refused } = await ask({ text }, signal);
  if (refused !== undefined) throw new ReplacementError(refused);
  return inTurns(ofJsonParts<RuleInput>(rules ?? []));
}

/** A hundred thousand rules need less than half of it in any form. */
const LIMITS = { maxOldGenerationSizeMb: 2_048 };

/** The last that was asked: the next waits for it, so that many large texts take no more memory than one. */
let last: Promise<unknown> = Promise.resolve();

function ask(question: RulesText, signal?: AbortSignal): Promise<FoundInText> {
  const answer = last.then(() => askThread<FoundInText>(THREAD, question, { signal, limits: LIMITS }));
  last = answer.catch(() => {});
  return answer;
}
