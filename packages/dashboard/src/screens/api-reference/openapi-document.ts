/** The parts of an OpenAPI document that the reference shows. */
export interface JsonSchema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: JsonSchema;
  readonly example?: unknown;
}

interface Operation {
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly { readonly key?: readonly string[] }[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly content: { readonly "application/json": { readonly schema: JsonSchema; readonly example?: unknown } };
  };
  readonly responses?: Readonly<Record<string, { readonly description: string }>>;
}

export interface OpenApi {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** An operation with where it is found. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  /** Names it in the address: `post-api-v1-check`. */
  readonly anchor: string;
  /** The role it needs; undefined if it is open. */
  readonly role: string | undefined;
}

export function endpointsOf({ paths }: OpenApi, tag: string): Endpoint[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { tags = [] }]) => tags.includes(tag))
      .map(([method, operation]) => ({
        method,
        path,
        operation,
        anchor: method + path.replaceAll(/[^a-z0-9]+/gi, "-").replace(/-$/, ""),
        role: operation.security?.[0]?.key?.[0],
      })),
  );
}

/** The type of a field, in a few words. */
export function kindOf(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.join(" | ");
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants) return variants.map(kindOf).join(" | ");
  if (schema.type === "array") return `list of ${kindOf(schema.items ?? {})}`;
  return schema.format ?? schema.type ?? "anything";
}
