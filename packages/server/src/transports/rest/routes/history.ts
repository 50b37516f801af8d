import type { App } from "../app.ts";
import { fieldProblem } from "../problem.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { auditPage, auditQuery, problems, topDenied, topQuery, usage, usageQuery } from "../schemas.ts";

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
    "/usage",
    {
      schema: {
        tags: ["history"],
        summary: "List what each rule decided, by minute (kept for 30 days) or by day (kept for a year)",
        querystring: usageQuery,
        response: { 200: usage, ...problems("database_unavailable") },
      },
    },
    async ({ query: { period, rule_id, from, to, limit, cursor } }) => {
      const { usual, longest } = SPANS[period];
      const until = to === undefined ? now() : Date.parse(to);
      const since = from === undefined ? until - usual : Date.parse(from);
      if (since > until) throw fieldProblem("query", "from", "must not be after to");
      if (until - since > longest) {
        throw fieldProblem("query", "from", `must be at most ${longest / DAY} days before to when period is ${period}`);
      }
      const span = { from: new Date(since).toISOString(), to: new Date(until).toISOString() };
      const { items, next } = await database.rollups.query({ period, ...span, limit, ...given({ rule_id, cursor }) });
      return {
        period,
        ...span,
        rollups: items.map(({ start, rule_id, allowed, denied, shadow_denied }) => ({
          start,
          rule_id,
          allowed,
          denied,
          shadow_denied,
        })),
        ...given({ next }),
      };
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

function utc(time: string): string {
  return new Date(time).toISOString();
}

type Given<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** The fields that are not undefined. */
function given<Fields extends object>(fields: Fields): Given<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<Fields>;
}
