// A thread that replaces the rules of a database once and ends.
import { HeadgateError } from "headgate";
import { answerParent } from "../rules/answer-parent.ts";
import { atOnce } from "../rules/cooperative-work.ts";
import { ofJsonParts, toJsonParts } from "../rules/json-chunks.ts";
import type { RuleInput } from "../rules/rule.ts";
import type { ThreadAnswer } from "../rules/worker-call.ts";
import { DatabaseError } from "./database-error.ts";
import { openDatabase } from "./open-database.ts";
import type { Outcome, Replacement } from "./replace-in-worker.ts";

async function outcomeOf({ options, actor }: Replacement, rules: readonly RuleInput[]): Promise<ThreadAnswer<Outcome>> {
  try {
    const database = await openDatabase({ ...options, threads: false });
    try {
      const { created, updated, removed, unchanged } = await database.rules.replace(rules, actor);
      return {
        answer: {
          replaced: { created: created.length, updated: updated.length, removed: removed.length, unchanged },
        },
        parts: atOnce(toJsonParts([...created, ...updated, ...removed])),
      };
    } finally {
      await database.close();
    }
  } catch (error) {
    if (error instanceof DatabaseError) {
      return { answer: { failed: { code: error.code, problem: error.problem } }, parts: [] };
    }
    if (!(error instanceof HeadgateError)) throw error;
    const { code, field, problem } = error;
    return { answer: { rejected: { code, field, problem } }, parts: [] };
  }
}

await answerParent<Replacement, Outcome>((replacement, parts) =>
  outcomeOf(replacement, atOnce(ofJsonParts<RuleInput>(parts.map(String)))),
);
