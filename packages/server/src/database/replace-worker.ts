// A thread that replaces the rules of a database once, and ends.
import { parentPort, workerData } from "node:worker_threads";
import { HeadgateError } from "headgate";
import { atOnce } from "../rules/cooperative-work.ts";
import { ofJsonParts, toJsonParts } from "../rules/json-chunks.ts";
import type { RuleInput } from "../rules/rule.ts";
import { DatabaseError } from "./database-error.ts";
import { openDatabase } from "./open-database.ts";
import type { Outcome, Replacement } from "./replace-in-worker.ts";

async function outcomeOf({ options, rules, actor }: Replacement): Promise<Outcome> {
  try {
    const database = await openDatabase({ ...options, threads: false });
    try {
      const { created, updated, removed, unchanged } = await database.rules.replace(
        atOnce(ofJsonParts<RuleInput>(rules)),
        actor,
      );
      const parts = (ids: readonly string[]): readonly string[] => atOnce(toJsonParts(ids));
      return {
        replaced: { created: parts(created), updated: parts(updated), removed: parts(removed), unchanged },
      };
    } finally {
      await database.close();
    }
  } catch (error) {
    if (error instanceof DatabaseError) return { failed: { code: error.code, message: error.message } };
    if (!(error instanceof HeadgateError)) throw error;
    const { code, field, message } = error;
    return { refused: { code, field, message } };
  }
}

outcomeOf(workerData).then((outcome) => parentPort?.postMessage(outcome));
