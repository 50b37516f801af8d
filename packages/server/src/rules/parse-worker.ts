// A thread that parses the rules of one text and ends.
import { answerParent } from "./answer-parent.ts";
import { atOnce } from "./cooperative-work.ts";
import { toJsonParts } from "./json-chunks.ts";
import type { FoundInText, RulesTextKind } from "./parse-in-worker.ts";
import { parseRules } from "./rules-file.ts";
import { RulesFileError } from "./rules-file-error.ts";
import { parseReplacement, ReplacementError } from "./rules-replacement.ts";
import { textOf } from "./text-parts.ts";
import type { ThreadAnswer } from "./worker-call.ts";

function found({ file }: RulesTextKind, text: string): ThreadAnswer<FoundInText> {
  try {
    const rules = file === undefined ? parseReplacement(text) : parseRules(text, file);
    return { answer: "rules", parts: atOnce(toJsonParts(rules)) };
  } catch (error) {
    if (error instanceof ReplacementError) {
      const { problems, more, unchecked } = error;
      return { answer: { problems, more, unchecked }, parts: [] };
    }
    if (!(error instanceof RulesFileError)) throw error;
    return { answer: "problems", parts: atOnce(toJsonParts(error.problems)) };
  }
}

await answerParent<RulesTextKind, FoundInText>((kind, parts) => found(kind, textOf(parts)));
