import { api } from "../../api/client.ts";
import type { Endpoint, Parameter } from "./openapi-document.ts";

export interface TriedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface TriedAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly text: string;
  readonly ms: number;
}

/** Larger responses are cut, since a page cannot show them well. */
const MOST_SHOWN = 200_000;

/** The request that the fields of a form describe. */
export function requestOf(
  { method, path }: Endpoint,
  values: readonly (readonly [Parameter, string])[],
  body: string | undefined,
): TriedRequest {
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  let url = path;
  for (const [{ name, in: place }, value] of values) {
    if (place === "path") url = url.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== "" && place === "query") query.set(name, value);
    else if (value !== "" && place === "header") headers[name] = value;
  }
  if (body !== undefined) headers["content-type"] = "application/json";
  return { method: method.toUpperCase(), url: query.size > 0 ? `${url}?${query}` : url, headers, body };
}

/** Sends it as it is; the session in the cookie is the caller. */
export async function send({ url, method, headers, body }: TriedRequest): Promise<TriedAnswer> {
  const start = performance.now();
  const response = await fetch(url, {
    method,
    headers: { ...headers, "x-csrf-token": api.csrfToken },
    ...(body !== undefined && { body }),
  });
  const isEndless = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const text = isEndless ? await firstPart(response) : await response.text();
  const { status, statusText } = response;
  const isCut = text.length > MOST_SHOWN;
  return {
    status,
    statusText,
    headers: [...response.headers],
    text: isCut ? `${text.slice(0, MOST_SHOWN)}\n… ${text.length - MOST_SHOWN} more characters` : text,
    ms: performance.now() - start,
  };
}

async function firstPart(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return new TextDecoder().decode(value);
}

/** The request as a curl command, with a key of one's own. */
export function curlOf({ url, method, headers, body }: TriedRequest, needsKey: boolean): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = [`curl -i -X ${method} ${quoted(location.origin + url)}`];
  if (needsKey) parts.push('-H "Authorization: Bearer $KEY"');
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) parts.push(`-d ${quoted(body)}`);
  return parts.join(" \\\n  ");
}
