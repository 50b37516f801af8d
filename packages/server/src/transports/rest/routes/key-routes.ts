import type { z } from "zod";
import type { ApiKeyRecord } from "../../../access/api-key.ts";
import { makeKey } from "../../../access/secret.ts";
import type { App } from "../app.ts";
import { principalOf } from "../authorize.ts";
import { requireDone } from "../etag.ts";
import type { RestParts } from "../rest-dependencies.ts";
import { apiKey, keyBody, keyList, keyParams, newKey } from "../schemas/key-schemas.ts";
import { problems } from "../schemas/problem-schemas.ts";
import { endOf } from "./expiry.ts";

export function keyRoutes(app: App, { database: { keys }, now = Date.now }: RestParts): void {
  app.get(
    "/keys",
    {
      schema: {
        tags: ["keys"],
        summary: "List all API keys, without their secrets",
        response: { 200: keyList, ...problems("database_unavailable") },
      },
    },
    async () => ({ keys: (await keys.all()).map(shown) }),
  );

  app.post(
    "/keys",
    {
      config: { answersWithSecret: true },
      schema: {
        tags: ["keys"],
        summary: "Create an API key. Its secret is returned only once",
        body: keyBody,
        response: {
          201: newKey,
          ...problems(
            "idempotency_not_possible",
            "malformed_json",
            "body_too_large",
            "unsupported_media_type",
            "database_unavailable",
          ),
        },
      },
    },
    async (request, reply) => {
      const { name, roles, namespace } = request.body;
      const end = endOf(request.body, now());
      const expires = end === null ? null : new Date(end);
      const { record, secret } = makeKey(name, [...new Set(roles)], { expires, namespace, now: new Date(now()) });
      await keys.add(record, principalOf(request));
      reply.code(201).header("location", `/api/v1/keys/${record.key_id}`);
      return { ...shown(record), key: secret };
    },
  );

  app.delete(
    "/keys/:key_id",
    {
      schema: {
        tags: ["keys"],
        summary: "Revoke an API key; all nodes reject it within a second",
        params: keyParams,
        response: {
          200: apiKey,
          ...problems("key_not_found", "idempotency_in_progress", "idempotency_conflict", "database_unavailable"),
        },
      },
    },
    async (request) => {
      const revoked = await keys.revoke(request.params.key_id, principalOf(request));
      return shown(requireDone(revoked, { missing: "key_not_found" }));
    },
  );
}

function shown({ hash: _, roles, ...record }: ApiKeyRecord): z.output<typeof apiKey> {
  return { ...record, roles: [...roles] };
}
