// A thread that reads the rules of one text, and ends.
import { parentPort, workerData } from "node:worker_threads";
import { atOnce } from "./cooperative-work.ts";
import { toJsonParts } from "./json-chunks.ts";
import type { FoundInText, RulesText } from "./parse-in-worker.ts";
import { parseRules, RulesFileError } from "./rules-file.ts";
import { parseReplacement, ReplacementError } from "./rules-replacement.ts";

function found({ text, file }: RulesText): FoundInText {
  try {
    const rules = file === undefined ? parseReplacement(text) : parseRules(text, file);
    return { rules: atOnce(toJsonParts(rules)) };
  } catch (error) {
    if (error instanceof ReplacementError) {
      const { problems, more, unchecked } = error;
      return { refused: { problems, more, unchecked } };
    }
    if (!(error instanceof RulesFileError)) throw error;
    return { problems: atOnce(toJsonParts(error.problems)) };
  }
}

parentPort?.postMessage(found(workerData));
