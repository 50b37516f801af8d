import type { Denied } from "../admission.ts";
import type { HeaderField } from "../headers/response-headers.ts";

/**
 * Adds headers to a finished response: appends to lists, and keeps other headers that the response has. Returns a copy
 * if the headers are immutable, as for a response of `fetch` or a redirect.
 */
export function withHeaders(response: Response, fields: readonly HeaderField[]): Response {
  // A response that switches protocols cannot be copied.
  if (fields.length === 0 || response.status === 101) return response;
  try {
    addHeaders(response.headers, fields);
    return response;
  } catch {
    const copy = new Response(response.body, response);
    addHeaders(copy.headers, fields);
    return copy;
  }
}

function addHeaders(headers: Headers, fields: readonly HeaderField[]): void {
  for (const { name, value, list } of fields) {
    if (list) headers.append(name, value);
    else if (!headers.has(name)) headers.set(name, value);
  }
}

/** All headers of a denial as a record; their names are unique. */
export function headersOf({ headers }: Denied): Record<string, string> {
  return Object.fromEntries(headers.map(({ name, value }) => [name, value]));
}

/** The headers of a denial that do not depend on its body. */
export function besideBody({ headers }: Denied): readonly HeaderField[] {
  return headers.filter(({ name }) => name !== "Content-Type");
}

/** The response if the client has disconnected; it is never read. 499 is the status that nginx uses. */
export function abandonedResponse(): Response {
  return new Response(null, { status: 499 });
}
