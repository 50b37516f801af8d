import type { Passed, Refused } from "../../http/admission.ts";
import type { HeaderField } from "../../http/headers/response-headers.ts";

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

/**
 * Tells an admission how its response ends: when its body has been sent whole or, if the client leaves before
 * that, is not wanted any more. The answer is what to send in the place of the given response.
 */
export function tellingEnd(request: Request, response: Response, passed: Passed): Response {
  const { status, body } = response;
  if (request.signal.aborted) {
    void passed.ended({ status: undefined, aborted: true });
    return response;
  }
  if (body === null || request.method === "HEAD") {
    void passed.ended({ status, aborted: false });
    return response;
  }
  const watched = watchedBody(body, (early) => void passed.ended({ status, aborted: early }));
  return new Response(watched, response);
}

/** A body that tells of its end, once, and whether it came too early. */
function watchedBody(body: ReadableStream<Uint8Array>, ended: (early: boolean) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  // A body that is cancelled while it is being read ends in both ways.
  let isOver = false;
  const end = (early: boolean): void => {
    if (!isOver) ended(early);
    isOver = true;
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          end(false);
          controller.close();
        } catch (error) {
          end(true);
          throw error;
        }
      },
      cancel(reason) {
        end(true);
        return reader.cancel(reason);
      },
    },
    // Nothing is read ahead: the end comes when the platform takes it.
    { highWaterMark: 0 },
  );
}
