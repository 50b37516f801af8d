import type { z } from "zod";
import type { App } from "../app.ts";
import { fieldProblem } from "../problem.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { auditPage, auditQuery, verification } from "../schemas/audit-schemas.ts";
import { problems } from "../schemas/problem-schemas.ts";
import { summaryQuery, topDenied, topQuery, usage, usageQuery, usageSummary } from "../schemas/usage-schemas.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The default and the longest span of a response: everything that is kept would be too much. */
const SPANS = { minute: { usual: HOUR, longest: DAY }, day: { usual: 30 * DAY, longest: 366 * DAY } } as const;

/** The audit log and usage figures. */
export function historyRoutes(app: App, parts: RestParts): void {
  const { database, now = Date.now } = parts;

  app.get(
    "/audit",
    {
      schema: {
        tags: ["history"],
        summary: "List audit entries, newest first",
        querystring: auditQuery,
        response: { 200: auditPage, ...problems("database_unavailable") },
      },
    },
    async ({ query: { user, subject, from, to, ...query } }) => {
      if (user !== undefined && subject !== undefined) {
        throw fieldProblem("query", "user", "is short for subject: give only one of the two");
      }
      const about = user === undefined ? subject : `user:${user}`;
      const { items, next } = await database.audit.query({
        ...given(query),
        ...given({ subject: about, from: from && utc(from), to: to && utc(to) }),
        limit: query.limit,
      });
      return { entries: [...items], ...(next === undefined ? {} : { next }) };
    },
  );

  app.get(
    "/audit/verification",
    {
      schema: {
        tags: ["history"],
        summary: "Verify the hash chain of the audit log",
        response: { 200: verification, ...problems("database_unavailable") },
      },
    },
    async () => {
      const { entries, begins_after, head, broken, unlisted } = await database.audit.verify();
      return {
        intact: broken === undefined,
        entries,
        begins_after: { ...begins_after },
        head: { ...head },
        ...given({ broken: broken?.map((found) => ({ ...found })), unlisted }),
      };
    },
  );

  app.get(
    "/usage",
    {
      schema: {
        tags: ["history"],
        summary: "List what each rule decided, by minute (kept for 30 days) or by day (kept for a year)",
        querystring: usageQuery,
        response: { 200: usage, ...problems("database_unavailable") },
      },
    },
    async ({ query: { rule_id, limit, cursor, ...query } }) => {
      const { period } = query;
      const span = spanOf(query, now());
      const { items, next } = await database.rollups.query({ period, ...span, limit, ...given({ rule_id, cursor }) });
      return {
        period,
        ...span,
        rollups: items.map(({ start, rule_id, allowed, denied, shadow_denied, candidate_denied }) => ({
          start,
          rule_id,
          allowed,
          denied,
          shadow_denied,
          candidate_denied,
        })),
        ...given({ next }),
      };
    },
  );

  app.get(
    "/usage/summary",
    {
      schema: {
        tags: ["history"],
        summary: "Summarize what all rules decided, and list those that denied most",
        querystring: summaryQuery,
        response: { 200: usageSummary, ...problems("database_unavailable") },
      },
    },
    async ({ query: { limit, ...query } }) => {
      const { period } = query;
      const span = spanOf(query, now());
      const { starts, total, rules } = await database.rollups.summary({ period, ...span, limit });
      return { period, ...span, starts: [...starts], total, rules: [...rules] };
    },
  );

  app.get(
    "/top-denied",
    {
      schema: {
        tags: ["history"],
        summary: "List the keys denied most often in the current and the previous hour, on all nodes",
        querystring: topQuery,
        response: { 200: topDenied, ...problems() },
      },
    },
    async ({ query: { limit } }) => {
      const { keys, nodes, complete } = await parts.topDenied(limit);
      return { keys: [...keys], nodes, complete };
    },
  );
}

/** From when to when to report, in UTC. */
function spanOf(
  { period, from, to }: Pick<z.output<typeof usageQuery>, "period" | "from" | "to">,
  now: number,
): { readonly from: string; readonly to: string } {
  const { usual, longest } = SPANS[period];
  const until = to === undefined ? now : Date.parse(to);
  const since = from === undefined ? until - usual : Date.parse(from);
  if (since > until) throw fieldProblem("query", "from", "must not be after to");
  if (until - since > longest) {
    throw fieldProblem("query", "from", `must be at most ${longest / DAY} days before to when period is ${period}`);
  }
  return { from: new Date(since).toISOString(), to: new Date(until).toISOString() };
}

function utc(time: string): string {
  return new Date(time).toISOString();
}

type Given<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** The fields that are not undefined. */
function given<Fields extends object>(fields: Fields): Given<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<Fields>;
}
