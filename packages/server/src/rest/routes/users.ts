import { z } from "zod";
import type { Applied } from "../../rules/family.ts";
import type { Standing } from "../../rules/standing.ts";
import type { App } from "../app.ts";
import { principalOf } from "../guard.ts";
import type { RestParts } from "../parts.ts";
import { fieldProblem } from "../problem.ts";
import {
  customBody,
  override,
  overrideBody,
  overrideParams,
  problems,
  standing,
  tierBody,
  userLimits,
  userParams,
} from "../schemas.ts";
import { etagOf, expectedVersion, requireDone } from "../versions.ts";
import { endOf } from "./ending.ts";

const WRITE_PROBLEMS = problems(
  "idempotency_in_progress",
  "idempotency_conflict",
  "malformed_json",
  "body_too_large",
  "unsupported_media_type",
  "database_unavailable",
);

export function userRoutes(app: App, { database: { users }, catalogue, now = Date.now }: RestParts): void {
  app.get(
    "/users/:user_id",
    {
      schema: {
        tags: ["users"],
        summary: "What is stored of a user: tier, custom limits, overrides in force",
        params: userParams,
        response: { 200: standing, ...problems("database_unavailable") },
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
        summary: "The limits that a user really has, and where each comes from",
        params: userParams,
        response: { 200: userLimits, ...problems("database_unavailable") },
      },
    },
    async ({ params }, reply) => {
      const found = await users.get(params.user_id);
      reply.header("etag", etagOf(found));
      const limits = effectiveLimits(catalogue(), found, now());
      return { user_id: found.user_id, tier: found.tier, version: found.version, limits: limits.map(stated) };
    },
  );

  app.put(
    "/users/:user_id/limits",
    {
      schema: {
        tags: ["users"],
        summary: "Give a user limits of his own, in the place of those he had",
        params: userParams,
        body: customBody,
        response: { 200: standing, ...WRITE_PROBLEMS, ...problems("version_changed") },
      },
    },
    async (request, reply) => {
      const { user_id } = request.params;
      const { custom_limits } = request.body;
      const known = new Set(catalogue().rules.map(({ rule_id }) => rule_id));
      for (const rule_id of Object.keys(custom_limits)) requireKnown(known.has(rule_id), `custom_limits.${rule_id}`);
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
        summary: "Put a user into a tier",
        params: userParams,
        body: tierBody,
        response: { 200: standing, ...WRITE_PROBLEMS, ...problems("version_changed") },
      },
    },
    async (request, reply) => {
      const { user_id } = request.params;
      const version = await expectedVersion(
        request.headers["if-match"],
        async () => (await users.get(user_id)).version,
      );
      const stored = await users.setTier(user_id, request.body.tier, principalOf(request), version);
      const changed = requireDone(stored, { missing: "version_changed" });
      reply.header("etag", etagOf(changed));
      return inForce(changed, now());
    },
  );

  app.post(
    "/users/:user_id/override",
    {
      schema: {
        tags: ["users"],
        summary: "Give a user another limit for a time",
        params: userParams,
        body: overrideBody,
        response: { 201: override, ...WRITE_PROBLEMS },
      },
    },
    async (request, reply) => {
      const { user_id } = request.params;
      const { rule_id, limit, burst, reason } = request.body;
      requireKnown(rule_id === null || catalogue().rules.some((rule) => rule.rule_id === rule_id), "rule_id");
      const expires_at = endOf(request.body, now());
      if (expires_at === null) throw fieldProblem("body", "expires_at", "must be given");
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
        summary: "End an override before its time",
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

/** A limit for a rule that does not exist would be waited for in vain. */
function requireKnown(known: boolean, field: string): void {
  if (!known) throw fieldProblem("body", field, "is no rule: GET /api/v1/rules lists those there are");
}

/** Those overrides that have expired are kept for a while, and are nobody's concern. */
function inForce(
  { user_id, tier, custom_limits, overrides, version }: Standing,
  now: number,
): z.output<typeof standing> {
  return {
    user_id,
    tier,
    custom_limits: { ...custom_limits },
    overrides: overrides.filter(({ expires_at }) => Date.parse(expires_at) > now),
    version,
  };
}

/** All limits of a user, whatever he asks for. Each pattern matches itself, read as an endpoint. */
function effectiveLimits(catalogue: ReturnType<RestParts["catalogue"]>, standing: Standing, now: number): Applied[] {
  const patterns = catalogue.rules.filter(({ dimension }) => dimension === "user").map((rule) => rule.endpoint_pattern);
  return [...new Set(patterns)].flatMap((endpoint) =>
    catalogue
      .limitsFor({ dimension: "user", endpoint, standing }, now)
      .filter(({ definition }) => definition.endpoint_pattern === endpoint),
  );
}

function stated({ definition, rule: { limit }, from }: Applied): z.output<typeof userLimits>["limits"][number] {
  const { rule_id, name, endpoint_pattern, window_seconds, algorithm, mode, tier } = definition;
  return {
    rule_id,
    name,
    endpoint_pattern,
    window_seconds,
    algorithm,
    mode,
    limit: limit.limit,
    burst: limit.burst,
    origin: from,
    tier,
  };
}
