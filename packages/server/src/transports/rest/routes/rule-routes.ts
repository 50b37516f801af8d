import { z } from "zod";
import type { Page, Paged, RuleTable } from "../../../database/database.ts";
import { countUpTo } from "../../../rules/merge-sort.ts";
import type { RateLimitRule } from "../../../rules/rule.ts";
import { ruleInput } from "../../../rules/rule-input.ts";
import type { App } from "../app.ts";
import { principalOf } from "../authorize.ts";
import { etagOf, expectedVersion, requireDone } from "../etag.ts";
import { takeLargeReplacements } from "../large-replacement.ts";
import { fieldProblem, Problem } from "../problem.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { pageQuery } from "../schemas/page-schemas.ts";
import { problems } from "../schemas/problem-schemas.ts";
import { replaced, rule, rulePage, ruleParams } from "../schemas/rule-schemas.ts";

/** Enough for a hundred thousand rules with every field. */
const LARGEST_REPLACEMENT = 48 * 1024 * 1024;

/** Fields that responses have and requests do not. */
const KEPT_BY_US = ["created_at", "updated_at", "version"];

/** Errors that any change may return. */
const WRITE_PROBLEMS = problems(
  "rules_from_file",
  "idempotency_in_progress",
  "idempotency_conflict",
  "malformed_json",
  "body_too_large",
  "unsupported_media_type",
  "database_unavailable",
);

export function ruleRoutes(app: App, { database, catalogue, rulesFile }: RestParts): void {
  const rules = rulesFile === undefined ? database.rules : fixed(catalogue, rulesFile);

  app.get(
    "/rules",
    {
      schema: {
        tags: ["rules"],
        summary: "List rules",
        querystring: pageQuery,
        response: { 200: rulePage, ...problems("database_unavailable") },
      },
    },
    async ({ query: { limit, cursor } }) => {
      const { items, next } = await rules.list(cursor === undefined ? { limit } : { limit, cursor });
      return { rules: [...items], ...(next === undefined ? {} : { next }) };
    },
  );

  app.get(
    "/rules/:rule_id",
    {
      schema: {
        tags: ["rules"],
        summary: "Get a rule",
        params: ruleParams,
        response: { 200: rule, ...problems("rule_not_found", "database_unavailable") },
      },
    },
    async ({ params }, reply) => {
      const found = await rules.get(params.rule_id);
      if (found === undefined) throw new Problem("rule_not_found");
      reply.header("etag", etagOf(found));
      return found;
    },
  );

  app.post(
    "/rules",
    {
      schema: {
        tags: ["rules"],
        summary: "Create a rule",
        body: ruleInput,
        response: { 201: rule, ...WRITE_PROBLEMS, ...problems("rule_exists", "rules_from_file") },
      },
    },
    async (request, reply) => {
      const made = requireDone(await rules.create(request.body, principalOf(request)), { missing: "rule_exists" });
      reply.code(201).headers({ etag: etagOf(made), location: `/api/v1/rules/${encodeURIComponent(made.rule_id)}` });
      return made;
    },
  );

  app.register(async (large: App) => {
    takeLargeReplacements(large);
    large.put(
      "/rules",
      {
        bodyLimit: LARGEST_REPLACEMENT,
        schema: {
          tags: ["rules"],
          summary: "Replace all rules, all or nothing",
          body: z.strictObject({ rules: z.array(ruleInput) }),
          response: { 200: replaced, ...WRITE_PROBLEMS },
        },
      },
      async (request, reply) => {
        const { created, updated, removed, unchanged } = await rules.replace(request.body.rules, principalOf(request));
        // A schema would visit every id: with 100,000 rules that took 60 ms.
        reply.type("application/json; charset=utf-8").serializer((answer) => JSON.stringify(answer));
        return { created: [...created], updated: [...updated], removed: [...removed], unchanged };
      },
    );
  });

  app.put(
    "/rules/:rule_id",
    {
      preValidation: async (request) => {
        const { body, params } = request;
        if (typeof body !== "object" || body === null) return;
        // The path already has it.
        if (!("rule_id" in body)) Object.assign(body, params);
        // A rule can be sent back as it was read.
        for (const field of KEPT_BY_US) Reflect.deleteProperty(body, field);
      },
      schema: {
        tags: ["rules"],
        summary: "Replace a rule",
        params: ruleParams,
        body: ruleInput,
        response: { 200: rule, ...WRITE_PROBLEMS, ...problems("rule_not_found", "version_changed", "rule_exists") },
      },
    },
    async (request, reply) => {
      const { rule_id } = request.params;
      if (request.body.rule_id !== rule_id) {
        throw fieldProblem("body", "rule_id", `must be the one in the path (${rule_id}), or omitted`);
      }
      const version = await expectedVersion(
        request.headers["if-match"],
        async () => (await rules.get(rule_id))?.version,
      );
      const stored = await rules.update(request.body, principalOf(request), version);
      const changed = requireDone(stored, { missing: "rule_not_found", exists: "rule_exists" });
      reply.header("etag", etagOf(changed));
      return changed;
    },
  );

  app.delete(
    "/rules/:rule_id",
    {
      schema: {
        tags: ["rules"],
        summary: "Delete a rule",
        params: ruleParams,
        response: {
          204: z.undefined().describe("Deleted"),
          ...WRITE_PROBLEMS,
          ...problems("rule_not_found", "version_changed"),
        },
      },
    },
    async (request, reply) => {
      const { rule_id } = request.params;
      const version = await expectedVersion(
        request.headers["if-match"],
        async () => (await rules.get(rule_id))?.version,
      );
      requireDone(await rules.remove(rule_id, principalOf(request), version), { missing: "rule_not_found" });
      reply.code(204);
    },
  );
}

/** The rules of a file, which can be read but not changed. */
function fixed(catalogue: RestParts["catalogue"], file: string): Omit<RuleTable, "all"> {
  const reject = async (): Promise<never> => {
    throw new Problem("rules_from_file", `the rules come from ${file}`);
  };
  return {
    list: async (page) => pageOf(catalogue().byId, page),
    get: async (id) => ruleById(catalogue().byId, id),
    create: reject,
    update: reject,
    remove: reject,
    replace: reject,
  };
}

function ruleById(byId: readonly RateLimitRule[], id: string): RateLimitRule | undefined {
  const rule = byId[countUpTo(byId, id) - 1];
  return rule?.rule_id === id ? rule : undefined;
}

/** The cursor is the last id of the previous page, so pages stay consistent while the file changes. */
function pageOf(byId: readonly RateLimitRule[], { limit, cursor }: Page): Paged<RateLimitRule> {
  const from = cursor === undefined ? 0 : countUpTo(byId, cursor);
  const items = byId.slice(from, from + limit);
  const last = items.at(-1);
  return from + limit < byId.length && last !== undefined ? { items, next: last.rule_id } : { items };
}
