import type { Refused } from "../admission.ts";
import type { HeaderField } from "../headers/response-headers.ts";

/**
 * Adds headers to a finished response: to the lists that it has, and where it has none of its own. The answer is a
 * copy if the headers of the response cannot be changed, as those of a `fetch` or a redirect.
 */
export function withHeaders(response: Response, fields: readonly HeaderField[]): Response {
  // A connection that was switched to another protocol has no response that could be copied.
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

/** All headers of a refusal, to make a response with; each has another name. */
export function headersOf({ headers }: Refused): Record<string, string> {
  return Object.fromEntries(headers.map(({ name, value }) => [name, value]));
}

/** The headers of a refusal that hold whatever its body is. */
export function besideBody({ headers }: Refused): readonly HeaderField[] {
  return headers.filter(({ name }) => name !== "Content-Type");
}

/** The answer to a client that has left: nobody reads it. The status is what nginx has for this. */
export function answerToNobody(): Response {
  return new Response(null, { status: 499 });
}
