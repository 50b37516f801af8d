import { type FastifySchema, fastify, type RouteOptions } from "fastify";
import { jsonSchemaTransform, jsonSchemaTransformObject, serializerCompiler } from "fastify-type-provider-zod";
import { IDEMPOTENCY_KEY_FORM } from "headgate/http";
import type { App } from "./app.ts";
import { BODY_EXAMPLES } from "./body-examples.ts";
import { operationId } from "./operation-ids.ts";
import { validateRequest } from "./validate-request.ts";

const DESCRIPTION = `Checks requests against rate limits and manages rules, users and API keys.

Authenticate with \`Authorization: Bearer <key>\`. Browsers can exchange a key for a session cookie with \`POST /api/v1/session\`. Errors are problem documents (RFC 9457) with a \`code\` for programs and \`advice\` for people. Changes accept \`X-Idempotency-Key\`, and \`If-Match\` where a resource has an ETag.`;

/**
 * Describes the routes registered after this call, as OpenAPI 3.1. The generator is loaded with the first request for the
 * description, and reads the routes from an app that serves no requests.
 */
export function describeRoutes(app: App): () => Promise<string> {
  const routes: RouteOptions[] = [];
  app.addHook("onRoute", (route) => {
    // fastify adds HEAD to each GET.
    if (route.method !== "HEAD") routes.push(route);
  });
  let text: Promise<string> | undefined;
  // The description does not change while the process runs.
  return () => {
    text ??= descriptionOf(routes).catch((error: unknown) => {
      text = undefined;
      throw error;
    });
    return text;
  };
}

async function descriptionOf(routes: readonly RouteOptions[]): Promise<string> {
  const { default: swagger } = await import("@fastify/swagger");
  const app = fastify({ exposeHeadRoutes: false });
  app.setValidatorCompiler(validateRequest);
  app.setSerializerCompiler(serializerCompiler);
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Headgate",
        version: "1.0.0",
        description: DESCRIPTION,
        license: { name: "MIT", identifier: "MIT" },
      },
      // The node that served the description.
      servers: [{ url: "/" }],
      tags: [
        { name: "checks", description: "Check requests against the limits" },
        { name: "reservations", description: "Reserve quota and slots, and settle them" },
        { name: "rules", description: "Manage rules" },
        { name: "users", description: "Manage tiers, custom limits and overrides" },
        { name: "keys", description: "Manage API keys" },
        { name: "history", description: "Read the audit log and usage figures" },
        { name: "sessions", description: "Sign in to the dashboard and out of it" },
        { name: "node", description: "Health and metrics of this node" },
      ],
      components: {
        securitySchemes: { key: { type: "http", scheme: "bearer", description: "hg_<key_id>_<secret>" } },
      },
    },
    transform: (route) => {
      const { schema, url } = jsonSchemaTransform(route);
      const example = BODY_EXAMPLES[`${route.route.method} ${route.url}`];
      const operation = { operationId: operationId(String(route.route.method), route.url) };
      const body = example === undefined ? {} : { body: { ...(schema.body as object), examples: [example] } };
      return { schema: { ...operation, ...schema, ...headersOf(route.schema, schema), ...body }, url };
    },
    transformObject: (document) => withoutUnusedSchemas(jsonSchemaTransformObject(document)),
  });
  for (const { method, url, schema = {} } of routes) app.route({ method, url, schema, handler: () => {} });
  await app.ready();
  return JSON.stringify(app.swagger());
}

type Description = ReturnType<typeof jsonSchemaTransformObject>;

/** Each schema is registered for requests and for responses; most are used in only one of them. */
function withoutUnusedSchemas(document: Description): Description {
  const schemas = "components" in document ? document.components?.schemas : undefined;
  if (schemas === undefined) return document;
  const { components: _, ...others } = { components: undefined, ...document };
  const used = new Set<string>();
  let found = [...referencesIn(others)];
  while (found.length > 0) {
    for (const name of found) used.add(name);
    found = [...referencesIn(found.map((name) => schemas[name]))].filter((name) => !used.has(name));
  }
  for (const name of Object.keys(schemas)) if (!used.has(name)) delete schemas[name];
  return document;
}

function referencesIn(part: unknown): Set<string> {
  const matches = JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
  return new Set([...matches].map(([, name]) => name));
}

export function openApiRoute(app: App, description: () => Promise<string>): void {
  app.get("/openapi.json", { schema: { hide: true } }, async (_request, reply) =>
    reply.type("application/json").send(await description()),
  );
}

/** What a header does, and the error status that marks the routes that read it. */
const HEADERS = {
  "X-Idempotency-Key": {
    status: 422,
    description: `Makes the request safe to retry: within five minutes, requests with the same key take effect once. ${IDEMPOTENCY_KEY_FORM}. Never forward a key chosen by your own client, whose repetitions would be free`,
  },
  "If-Match": { status: 412, description: "Make the change only if the resource still has this ETag" },
} as const;

/** The headers that many routes read. They are not validated by a schema, so they are added here. */
function headersOf({ response }: FastifySchema = {}, { headers }: FastifySchema): { headers?: unknown } {
  const known = typeof response === "object" && response !== null ? response : {};
  const read = Object.entries(HEADERS).filter(([, { status }]) => status in known);
  if (read.length === 0) return {};
  const properties = Object.fromEntries(read.map(([name, { description }]) => [name, { type: "string", description }]));
  const own = headers as { properties?: object } | undefined;
  return { headers: { type: "object", ...own, properties: { ...own?.properties, ...properties } } };
}
