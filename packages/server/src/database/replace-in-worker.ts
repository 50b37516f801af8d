import { HeadgateError } from "headgate";
import { inTurns } from "../rules/cooperative-work.ts";
import { ofJsonParts, toJsonParts } from "../rules/json-chunks.ts";
import { askThread } from "../rules/worker-call.ts";
import type { Actor, Replaced, RuleTable } from "./database.ts";
import { DatabaseError, type DatabaseErrorCode } from "./database-error.ts";
import type { DatabaseOptions } from "./open-database.ts";

/** What the thread is given. */
export interface Replacement {
  readonly options: DatabaseOptions;
  /** The rules, in parts of JSON. */
  readonly rules: readonly string[];
  readonly actor: Actor;
}

/** What was replaced, the ids in parts of JSON: they may be as many as the rules. */
type ReplacedParts = Record<"created" | "updated" | "removed", readonly string[]> & Pick<Replaced, "unchanged">;

/** What it answers: an error is not the same object on the other side. */
export type Outcome =
  | { readonly replaced: ReplacedParts }
  | { readonly refused: { readonly code: HeadgateError["code"]; readonly field: string; readonly message: string } }
  | { readonly failed: { readonly code: DatabaseErrorCode; readonly message: string } };

/** The compiled one also where the sources run, as in tests: a thread reads no TypeScript. */
const THREAD = new URL("../../dist/database/replace-worker.js", import.meta.url);

/**
 * Replaces the rules of a database by a thread with a connection of its own. Here it would take the time of a few
 * thousand checks for each thousand rules; and the commit of many rows, on SQLite, cannot be done bit by bit.
 */
export function replaceInThread(options: DatabaseOptions): RuleTable["replace"] {
  return async (inputs, actor) => {
    const rules = await inTurns(toJsonParts(inputs));
    const replacement: Replacement = { options, rules, actor };
    const outcome = await askThread<Outcome>(THREAD, replacement);
    if ("replaced" in outcome) {
      const { created, updated, removed, unchanged } = outcome.replaced;
      return {
        created: await inTurns(ofJsonParts<string>(created)),
        updated: await inTurns(ofJsonParts<string>(updated)),
        removed: await inTurns(ofJsonParts<string>(removed)),
        unchanged,
      };
    }
    if ("failed" in outcome) throw new DatabaseError(outcome.failed.code, textAfter("database", outcome.failed));
    const { code, field } = outcome.refused;
    throw new HeadgateError(code, field, textAfter(field, outcome.refused));
  };
}

function textAfter(prefix: string, { message }: { readonly message: string }): string {
  return message.slice(prefix.length + 2);
}
