import swagger from "@fastify/swagger";
import type { FastifySchema } from "fastify";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";
import { IDEMPOTENCY_KEY_FORM } from "headgate";
import type { App } from "./app.ts";
import { BODY_EXAMPLES } from "./body-examples.ts";
import { operationId } from "./operation-ids.ts";

const DESCRIPTION = `Who may do what how often.

Send \`Authorization: Bearer <key>\`. Errors are problems as RFC 9457 has them, with a \`code\` to go by and \`advice\`.
Writes take \`X-Idempotency-Key\` and \`If-Match\`.`;

/** Describes the routes that are added after it, as OpenAPI 3.1, at /openapi.json. */
export function describeRoutes(app: App): void {
  app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Headgate",
        version: "1.0.0",
        description: DESCRIPTION,
        license: { name: "MIT", identifier: "MIT" },
      },
      // Where it was read from.
      servers: [{ url: "/" }],
      tags: [
        { name: "checks", description: "May a request pass?" },
        { name: "rules", description: "Which limits there are" },
        { name: "users", description: "Tiers, custom limits, overrides" },
        { name: "keys", description: "Who may ask this service" },
        { name: "history", description: "What was changed, and what was decided" },
        { name: "node", description: "How this process does" },
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
}

type Description = ReturnType<typeof jsonSchemaTransformObject>;

/** Each schema is registered for requests and for answers; most are used for one of them only. */
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

export function openApiRoute(app: App): void {
  let text: string | undefined;
  app.get("/openapi.json", { schema: { hide: true } }, async (_request, reply) => {
    // It does not change while the process runs.
    text ??= JSON.stringify(app.swagger());
    return reply.type("application/json").send(text);
  });
}

/** What a header does, and the problem that shows that a route reads it. */
const HEADERS = {
  "X-Idempotency-Key": {
    status: 422,
    description: `Sent again under the same key within five minutes, it is done once. It is ${IDEMPOTENCY_KEY_FORM}, and never one that your own client chose, since its repetitions would be free`,
  },
  "If-Match": { status: 412, description: "Only if it still has this ETag" },
} as const;

/** The headers that routes read beside those of their own: they are not validated, so no schema has them. */
function headersOf({ response }: FastifySchema = {}, { headers }: FastifySchema): { headers?: unknown } {
  const known = typeof response === "object" && response !== null ? response : {};
  const read = Object.entries(HEADERS).filter(([, { status }]) => status in known);
  if (read.length === 0) return {};
  const properties = Object.fromEntries(read.map(([name, { description }]) => [name, { type: "string", description }]));
  const own = headers as { properties?: object } | undefined;
  return { headers: { type: "object", ...own, properties: { ...own?.properties, ...properties } } };
}
