import type { Kysely } from "kysely";
import type { RateLimitRule, RuleInput } from "../rules/rule.ts";
import { cursorAt, placeOf } from "./cursor.ts";
import type { Actor, Conflict, Page, Paged, Replaced, RuleTable } from "./database.ts";
import { type Entry, inParts, type Ledger } from "./ledger.ts";
import { inputOf, isSameInput, placeOfRule, requireDistinct, rowOf, ruleOf } from "./rule-row.ts";
import type { Tables } from "./tables.ts";
import { canBeId, requireStorable } from "./text.ts";

export class SqlRules implements RuleTable {
  private readonly ledger: Ledger;

  constructor(ledger: Ledger) {
    this.ledger = ledger;
  }

  all(): Promise<readonly RateLimitRule[]> {
    return this.ledger.read(allRules);
  }

  async list({ limit, cursor }: Page): Promise<Paged<RateLimitRule>> {
    const after = cursor === undefined ? undefined : placeOf(cursor, "string");
    return this.ledger.read(async (db) => {
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
    return canBeId(id) ? this.ledger.read((db) => ruleById(db, id)) : undefined;
  }

  async create(input: RuleInput, actor: Actor): Promise<RateLimitRule | Conflict> {
    requireStorable(input);
    return this.ledger.write(async (db, entry) => {
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
    return this.ledger.write(async (db, entry) => {
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
    return this.ledger.write(async (db, entry) => {
      const before = await ruleById(db, id);
      if (before === undefined) return { conflict: "missing" };
      if (version !== undefined && version !== before.version) return { conflict: "changed", current: before.version };
      await db.deleteFrom("headgate_rules").where("rule_id", "=", id).execute();
      note(entry, actor, before, undefined);
      return before;
    });
  }

  async replace(inputs: readonly RuleInput[], actor: Actor): Promise<Replaced> {
    requireDistinct(inputs);
    return this.ledger.write(async (db, entry) => {
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
      // All that goes or changes makes room first: two rules may have changed places.
      await inParts([...there.keys(), ...updated.map(({ rule_id }) => rule_id)], (ids) =>
        db.deleteFrom("headgate_rules").where("rule_id", "in", ids).execute(),
      );
      await inParts([...created, ...updated].map(rowOf), (rows) =>
        db.insertInto("headgate_rules").values(rows).execute(),
      );
      return {
        created: created.map(({ rule_id }) => rule_id),
        updated: updated.map(({ rule_id }) => rule_id),
        removed: [...there.keys()],
        unchanged: inputs.length - created.length - updated.length,
      };
    });
  }
}

async function allRules(db: Kysely<Tables>): Promise<readonly RateLimitRule[]> {
  const rows = await db.selectFrom("headgate_rules").selectAll().orderBy("rule_id").execute();
  return rows.map(ruleOf);
}

async function ruleById(db: Kysely<Tables>, id: string): Promise<RateLimitRule | undefined> {
  const row = await db.selectFrom("headgate_rules").selectAll().where("rule_id", "=", id).executeTakeFirst();
  return row === undefined ? undefined : ruleOf(row);
}

function newRule(input: RuleInput, { at }: Entry): RateLimitRule {
  const now = new Date(at).toISOString();
  return { ...inputOf(input), created_at: now, updated_at: now, version: 1 };
}

function changedRule(before: RateLimitRule, input: RuleInput, { at }: Entry): RateLimitRule {
  const { created_at, version } = before;
  return { ...inputOf(input), created_at, updated_at: new Date(at).toISOString(), version: version + 1 };
}

function note(entry: Entry, actor: Actor, before: RateLimitRule | undefined, after: RateLimitRule | undefined): void {
  const action = before === undefined ? "rule.create" : after === undefined ? "rule.delete" : "rule.update";
  entry.record(actor, action, `rule:${(after ?? before)?.rule_id}`, before, after);
  entry.tell({ kind: "rules" });
}
