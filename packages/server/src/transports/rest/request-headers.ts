import type { FastifyRequest } from "fastify";
import { fieldProblem } from "./problem.ts";

const UTF_8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Prepares headers to be validated like a body. Node decodes them as Latin-1 and joins repeated values; here values are
 * UTF-8, and a repeated header is rejected: a proxy may have forwarded the second one from its client.
 */
export function requireToldOnce({ raw, headers }: FastifyRequest, names: readonly string[]): void {
  for (const name of names) {
    const field = name.toLowerCase();
    const values = raw.headersDistinct[field];
    if (values === undefined) continue;
    if (values.length > 1)
      throw fieldProblem("header", name, "must be sent once: set it in the proxy, and do not forward it from clients");
    headers[field] = decoded(name, values[0]);
  }
}

function decoded(name: string, value: string): string {
  try {
    return UTF_8.decode(Buffer.from(value, "latin1"));
  } catch {
    throw fieldProblem("header", name, "must be UTF-8");
  }
}
