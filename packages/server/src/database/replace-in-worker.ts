import { HeadgateError } from "headgate";
import { inTurns } from "../rules/cooperative-work.ts";
import { ofJsonParts, toJsonParts } from "../rules/json-chunks.ts";
import { askThread } from "../rules/worker-call.ts";
import type { Actor, RuleTable } from "./database.ts";
import { DatabaseError, type DatabaseErrorCode } from "./database-error.ts";
import type { DatabaseOptions } from "./open-database.ts";

/** Input of the thread, besides the rules, which follow as chunks of JSON. */
export interface Replacement {
  readonly options: DatabaseOptions;
  readonly actor: Actor;
}

/** Number of rules of each kind. Their ids follow as chunks of JSON, in this order. */
type ReplacedCounts = Record<"created" | "updated" | "removed" | "unchanged", number>;

/** The result of the thread. Errors are serialized, because they lose their class on the way. */
export type Outcome =
  | { readonly replaced: ReplacedCounts }
  | { readonly rejected: { readonly code: HeadgateError["code"]; readonly field: string; readonly problem: string } }
  | { readonly failed: { readonly code: DatabaseErrorCode; readonly problem: string } };

/** The compiled file even when running from source, as in tests, because a thread cannot load TypeScript. */
const THREAD = new URL("../../dist/database/replace-worker.js", import.meta.url);

/**
 * Replaces the rules of a database in a worker thread with its own connection. In the main thread, each thousand rules
 * would take the time of a few thousand checks, and with SQLite the commit of many rows cannot be divided.
 */
export function replaceInThread(options: DatabaseOptions): RuleTable["replace"] {
  return async (inputs, actor) => {
    const replacement: Replacement = { options, actor };
    const { answer: outcome, parts } = await askThread<Outcome>(THREAD, replacement, {
      parts: await inTurns(toJsonParts(inputs)),
    });
    if ("replaced" in outcome) {
      const { created, updated, unchanged } = outcome.replaced;
      const ids = await inTurns(ofJsonParts<string>(parts));
      return {
        created: ids.slice(0, created),
        updated: ids.slice(created, created + updated),
        removed: ids.slice(created + updated),
        unchanged,
      };
    }
    if ("failed" in outcome) throw new DatabaseError(outcome.failed.code, outcome.failed.problem);
    const { code, field, problem } = outcome.rejected;
    throw new HeadgateError(code, field, problem);
  };
}
