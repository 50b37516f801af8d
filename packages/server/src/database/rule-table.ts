import type { Kysely } from "kysely";
import { isSameInput, type RateLimitRule, type RuleInput } from "../rules/rule.ts";
import { type AuditedDatabase, type Entry, inParts } from "./audited-writes.ts";
import { cursorAt, placeOf } from "./cursor.ts";
import type { Actor, Conflict, Page, Paged, Replaced, RuleTable } from "./database.ts";
import { forgetRules } from "./remove-rule-data.ts";
import { placeOfRule, requireDistinct, rowOf, ruleOf } from "./rule-row.ts";
import { canBeId, requireStorable } from "./storable-text.ts";
import type { Tables } from "./tables.ts";

/** Rows that can be read in a few milliseconds. */
const ROWS_AT_ONCE = 250;

/** More rules than this are replaced in a worker thread. */
const MOST_REPLACED_HERE = 500;

export class SqlRules implements RuleTable {
  private readonly audited: AuditedDatabase;
  private readonly replaceInThread: RuleTable["replace"] | undefined;

  /** Without `replaceInThread`, any number of rules is replaced in this thread. */
  constructor(audited: AuditedDatabase, replaceInThread?: RuleTable["replace"]) {
    this.audited = audited;
    this.replaceInThread = replaceInThread;
  }

  all(): Promise<readonly RateLimitRule[]> {
    return this.audited.snapshot(allRules);
  }

  async list({ limit, cursor }: Page): Promise<Paged<RateLimitRule>> {
    const after = cursor === undefined ? undefined : placeOf(cursor, "string");
    return this.audited.read(async (db) => {
      const rows = await db
        .selectFrom("headgate_rules")
        .selectAll()
        .$if(after !== undefined, (query) => query.where("rule_id", ">", after ?? ""))
        .orderBy("rule_id")
        .limit(limit + 1)
        .execute();
      const items = rows.slice(0, limit).map(ruleOf);
      return rows.length > limit ? { items, next: cursorAt(items[limit - 1].rule_id) } : { items };
    });
  }

  async get(id: string): Promise<RateLimitRule | undefined> {
    return canBeId(id) ? this.audited.read((db) => ruleById(db, id)) : undefined;
  }

  async create(input: RuleInput, actor: Actor): Promise<RateLimitRule | Conflict> {
    requireStorable(input);
    return this.audited.write(async (db, entry) => {
      const there = await db
        .selectFrom("headgate_rules")
        .select(["version"])
        .where(({ eb, or }) => or([eb("rule_id", "=", input.rule_id), eb("place", "=", placeOfRule(input))]))
        .executeTakeFirst();
      if (there !== undefined) return { conflict: "exists", current: there.version };
      const rule = newRule(input, entry);
      await db.insertInto("headgate_rules").values(rowOf(rule)).execute();
      note(entry, actor, undefined, rule);
      return rule;
    });
  }

  async update(input: RuleInput, actor: Actor, version?: number): Promise<RateLimitRule | Conflict> {
    requireStorable(input);
    return this.audited.write(async (db, entry) => {
      const before = await ruleById(db, input.rule_id);
      if (before === undefined) return { conflict: "missing" };
      if (version !== undefined && version !== before.version) return { conflict: "changed", current: before.version };
      const other = await db
        .selectFrom("headgate_rules")
        .select("version")
        .where("place", "=", placeOfRule(input))
        .where("rule_id", "!=", input.rule_id)
        .executeTakeFirst();
      if (other !== undefined) return { conflict: "exists", current: before.version };
      const rule = changedRule(before, input, entry);
      await db.updateTable("headgate_rules").set(rowOf(rule)).where("rule_id", "=", rule.rule_id).execute();
      note(entry, actor, before, rule);
      return rule;
    });
  }

  async remove(id: string, actor: Actor, version?: number): Promise<RateLimitRule | Conflict> {
    if (!canBeId(id)) return { conflict: "missing" };
    return this.audited.write(async (db, entry) => {
      const before = await ruleById(db, id);
      if (before === undefined) return { conflict: "missing" };
      if (version !== undefined && version !== before.version) return { conflict: "changed", current: before.version };
      await db.deleteFrom("headgate_rules").where("rule_id", "=", id).execute();
      note(entry, actor, before, undefined);
      await forgetRules(db, entry, [id], actor);
      return before;
    });
  }

  replace(inputs: readonly RuleInput[], actor: Actor): Promise<Replaced> {
    return this.audited.writeLong(async ({ read, write }) => {
      const many = Math.max(inputs.length, await read(countRules)) > MOST_REPLACED_HERE;
      if (many && this.replaceInThread !== undefined) return this.replaceInThread(inputs, actor);
      requireDistinct(inputs);
      return write((db, entry) => replaceAll(db, entry, inputs, actor));
    });
  }
}

async function replaceAll(
  db: Kysely<Tables>,
  entry: Entry,
  inputs: readonly RuleInput[],
  actor: Actor,
): Promise<Replaced> {
  const there = new Map((await allRules(db)).map((rule) => [rule.rule_id, rule]));
  const created: RateLimitRule[] = [];
  const updated: RateLimitRule[] = [];
  for (const input of inputs) {
    const before = there.get(input.rule_id);
    there.delete(input.rule_id);
    if (before === undefined) created.push(newRule(input, entry));
    else if (!isSameInput(before, input)) {
      const rule = changedRule(before, input, entry);
      updated.push(rule);
      note(entry, actor, before, rule);
    }
  }
  for (const rule of created) note(entry, actor, undefined, rule);
  for (const rule of there.values()) note(entry, actor, rule, undefined);
  await forgetRules(db, entry, [...there.keys()], actor);
  // Delete removed and changed rules first: two rules may have swapped places.
  await inParts([...there.keys(), ...updated.map(({ rule_id }) => rule_id)], (ids) =>
    db.deleteFrom("headgate_rules").where("rule_id", "in", ids).execute(),
  );
  await inParts([...created, ...updated].map(rowOf), (rows) => db.insertInto("headgate_rules").values(rows).execute());
  return {
    created: created.map(({ rule_id }) => rule_id),
    updated: updated.map(({ rule_id }) => rule_id),
    removed: [...there.keys()],
    unchanged: inputs.length - created.length - updated.length,
  };
}

async function countRules(db: Kysely<Tables>): Promise<number> {
  const { count } = await db
    .selectFrom("headgate_rules")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

async function allRules(db: Kysely<Tables>): Promise<readonly RateLimitRule[]> {
  const rules: RateLimitRule[] = [];
  for (let last = ""; ; last = rules[rules.length - 1].rule_id) {
    const rows = await db
      .selectFrom("headgate_rules")
      .selectAll()
      .where("rule_id", ">", last)
      .orderBy("rule_id")
      .limit(ROWS_AT_ONCE)
      .execute();
    for (const row of rows) rules.push(ruleOf(row));
    if (rows.length < ROWS_AT_ONCE) return rules;
    // Lets other work run.
    await new Promise(setImmediate);
  }
}

async function ruleById(db: Kysely<Tables>, id: string): Promise<RateLimitRule | undefined> {
  const row = await db.selectFrom("headgate_rules").selectAll().where("rule_id", "=", id).executeTakeFirst();
  return row === undefined ? undefined : ruleOf(row);
}

function newRule(input: RuleInput, { at }: Entry): RateLimitRule {
  const now = new Date(at).toISOString();
  return { ...input, created_at: now, updated_at: now, version: 1 };
}

function changedRule(before: RateLimitRule, input: RuleInput, { at }: Entry): RateLimitRule {
  const { created_at, version } = before;
  return { ...input, created_at, updated_at: new Date(at).toISOString(), version: version + 1 };
}

function note(entry: Entry, actor: Actor, before: RateLimitRule | undefined, after: RateLimitRule | undefined): void {
  const action = before === undefined ? "rule.create" : after === undefined ? "rule.delete" : "rule.update";
  entry.record(actor, action, `rule:${(after ?? before)?.rule_id}`, before, after);
  entry.announce({ kind: "rules" });
}
