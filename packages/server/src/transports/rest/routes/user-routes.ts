import { z } from "zod";
import { cursorAt, placeOf } from "../../../database/cursor.ts";
import { inTurns } from "../../../rules/cooperative-work.ts";
import { isAmong } from "../../../rules/merge-sort.ts";
import type { AppliedLimit } from "../../../rules/shared-counter.ts";
import type { UserData } from "../../../rules/user-limits.ts";
import type { App } from "../app.ts";
import { principalOf } from "../authorize.ts";
import { etagOf, expectedVersion, requireDone } from "../etag.ts";
import { checkImport } from "../import-users.ts";
import { fieldProblem } from "../problem.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { unknownTierProblem } from "../rule-names.ts";
import { override, overrideBody, overrideParams } from "../schemas/override-schemas.ts";
import { longPageQuery } from "../schemas/page-schemas.ts";
import { problems } from "../schemas/problem-schemas.ts";
import {
  changedUser,
  customBody,
  importBody,
  imported,
  tierBody,
  userData,
  userLimits,
  userPage,
  userParams,
  userQuery,
} from "../schemas/user-schemas.ts";
import { endOf } from "./expiry.ts";

/** Enough for 500 users with some custom limits, and parsed in a few milliseconds. */
const LARGEST_IMPORT = 256 * 1024;

const WRITE_PROBLEMS = problems(
  "idempotency_in_progress",
  "idempotency_conflict",
  "malformed_json",
  "body_too_large",
  "unsupported_media_type",
  "database_unavailable",
);

/** Custom limits of one user. */
const MOST_CUSTOM_LIMITS = 1_000;

export function userRoutes(app: App, { database: { users }, catalogue, now = Date.now }: RestParts): void {
  app.get(
    "/users",
    {
      schema: {
        tags: ["users"],
        summary: "List users that have a tier, custom limits or overrides",
        querystring: userQuery,
        response: { 200: userPage, ...problems("database_unavailable") },
      },
    },
    async ({ query: { limit, cursor, tier } }) => {
      const { items, next } = await users.list({
        limit,
        ...(cursor !== undefined && { cursor }),
        ...(tier !== undefined && { tier }),
      });
      return { users: items.map((user) => inForce(user, now())), ...(next !== undefined && { next }) };
    },
  );

  app.post(
    "/users",
    {
      bodyLimit: LARGEST_IMPORT,
      schema: {
        tags: ["users"],
        summary: "Import up to 500 users, all or nothing",
        body: importBody,
        response: { 200: imported, ...WRITE_PROBLEMS },
      },
    },
    async (request) => {
      const { users: checked, warnings } = await inTurns(checkImport(request.body.users, catalogue()));
      const { created, updated, unchanged } = await users.import(checked, principalOf(request));
      return { created, updated, unchanged, ...(warnings.length > 0 && { warnings: [...warnings] }) };
    },
  );

  app.get(
    "/users/:user_id",
    {
      schema: {
        tags: ["users"],
        summary: "Get a user's tier, custom limits and active overrides",
        params: userParams,
        response: { 200: userData, ...problems("database_unavailable") },
      },
    },
    async ({ params }, reply) => {
      const found = await users.get(params.user_id);
      reply.header("etag", etagOf(found));
      return inForce(found, now());
    },
  );

  app.get(
    "/users/:user_id/limits",
    {
      schema: {
        tags: ["users"],
        summary: "List the limits in force for a user",
        params: userParams,
        querystring: longPageQuery,
        response: { 200: userLimits, ...problems("database_unavailable") },
      },
    },
    async ({ params, query: { limit, cursor } }, reply) => {
      const after = cursor === undefined ? "" : placeOf(cursor, "string");
      const found = await users.get(params.user_id);
      reply.header("etag", etagOf(found));
      const { user_id, tier, version } = found;
      const some = await inTurns(catalogue().limitsOfUser(found, now(), limit + 1, after));
      const limits = some.slice(0, limit).map(stated);
      const next = some.length > limit ? { next: cursorAt(limits[limit - 1].rule_id) } : {};
      return { user_id, tier, version, limits, ...next };
    },
  );

  app.put(
    "/users/:user_id/limits",
    {
      preValidation: async ({ body }) => {
        if (typeof body !== "object" || body === null || !("custom_limits" in body)) return;
        const count = Object.keys(Object(body.custom_limits)).length;
        // The schema would report every one of them.
        if (count > MOST_CUSTOM_LIMITS) {
          throw fieldProblem("body", "custom_limits", `must have at most ${MOST_CUSTOM_LIMITS} limits, got ${count}`);
        }
      },
      schema: {
        tags: ["users"],
        summary: "Replace all custom limits of a user, at most 1,000",
        params: userParams,
        body: customBody,
        response: { 200: userData, ...WRITE_PROBLEMS, ...problems("version_changed") },
      },
    },
    async (request, reply) => {
      const { user_id } = request.params;
      const { custom_limits } = request.body;
      const { byId } = catalogue();
      for (const id of Object.keys(custom_limits)) requireKnown(isAmong(byId, id), `custom_limits.${id}`);
      const version = await expectedVersion(
        request.headers["if-match"],
        async () => (await users.get(user_id)).version,
      );
      const stored = await users.setCustomLimits(user_id, custom_limits, principalOf(request), version);
      const changed = requireDone(stored, { missing: "version_changed" });
      reply.header("etag", etagOf(changed));
      return inForce(changed, now());
    },
  );

  app.put(
    "/users/:user_id/tier",
    {
      schema: {
        tags: ["users"],
        summary: "Set the tier of a user",
        params: userParams,
        body: tierBody,
        response: { 200: changedUser, ...WRITE_PROBLEMS, ...problems("version_changed") },
      },
    },
    async (request, reply) => {
      const { user_id } = request.params;
      const version = await expectedVersion(
        request.headers["if-match"],
        async () => (await users.get(user_id)).version,
      );
      const { tier } = request.body;
      const stored = await users.setTier(user_id, tier, principalOf(request), version);
      const changed = requireDone(stored, { missing: "version_changed" });
      reply.header("etag", etagOf(changed));
      const known = catalogue();
      if (tier === null || known.tiers.has(tier)) return inForce(changed, now());
      const warning = { in: "body" as const, field: "tier", problem: unknownTierProblem(tier, known) };
      return { ...inForce(changed, now()), warnings: [warning] };
    },
  );

  app.post(
    "/users/:user_id/override",
    {
      schema: {
        tags: ["users"],
        summary: "Override a user's limit temporarily; at most 1,000 overrides can be in force at once",
        params: userParams,
        body: overrideBody,
        response: { 201: override, ...WRITE_PROBLEMS },
      },
    },
    async (request, reply) => {
      const { user_id } = request.params;
      const { rule_id, limit, burst, reason } = request.body;
      requireKnown(rule_id === null || isAmong(catalogue().byId, rule_id), "rule_id");
      const expires_at = endOf(request.body, now());
      if (expires_at === null) throw fieldProblem("body", "expires_at", "is required");
      const made = await users.addOverride(
        { user_id, rule_id, limit, burst, reason, expires_at },
        principalOf(request),
      );
      const at = `/api/v1/users/${encodeURIComponent(user_id)}/override/${encodeURIComponent(made.override_id)}`;
      reply.code(201).header("location", at);
      return made;
    },
  );

  app.delete(
    "/users/:user_id/override/:override_id",
    {
      schema: {
        tags: ["users"],
        summary: "End an override early",
        params: overrideParams,
        response: { 204: z.undefined().describe("Ended"), ...WRITE_PROBLEMS, ...problems("override_not_found") },
      },
    },
    async (request, reply) => {
      const { user_id, override_id } = request.params;
      const removed = await users.removeOverride(user_id, override_id, principalOf(request));
      requireDone(removed, { missing: "override_not_found" });
      reply.code(204);
    },
  );
}

/** A limit for a rule that does not exist would never apply. */
function requireKnown(known: boolean, field: string): void {
  if (!known) throw fieldProblem("body", field, "is not an existing rule: GET /api/v1/rules lists all rules");
}

/** Leaves out overrides that have expired, which are kept for a while. */
function inForce(
  { user_id, tier, custom_limits, overrides, version }: UserData,
  now: number,
): z.output<typeof userData> {
  return {
    user_id,
    tier,
    custom_limits: { ...custom_limits },
    overrides: overrides.filter(({ expires_at }) => Date.parse(expires_at) > now),
    version,
  };
}

function stated({ config, limit, origin }: AppliedLimit): z.output<typeof userLimits>["limits"][number] {
  const { rule_id, name, endpoint_pattern, methods, algorithm, mode, tier } = config;
  const { window_seconds, calendar, time_zone, anchor_day } = config;
  return {
    rule_id,
    name,
    endpoint_pattern,
    methods,
    window_seconds,
    calendar,
    time_zone,
    anchor_day,
    algorithm,
    mode,
    limit: limit.limit,
    burst: limit.burst,
    origin,
    tier,
  };
}
