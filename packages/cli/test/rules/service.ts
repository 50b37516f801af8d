import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { Fields } from "./files.ts";

export const KEY = "hg_0f3a_secret-that-is-shown-to-nobody";

export interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly body: unknown;
}

/** The rules' part of the REST API over a list, with pages of two; `answer` is asked first, for what goes wrong. */
export async function service(
  rules: readonly Fields[],
  answer: (
    request: IncomingMessage,
  ) => { status: number; body: string; headers?: Record<string, string> } | undefined = () => undefined,
): Promise<{ readonly url: string; readonly asked: readonly Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const { method, url = "" } = request;
    const body = await text(request);
    asked.push({ method, url, body: body === "" ? undefined : JSON.parse(body) });
    const { searchParams, pathname } = new URL(url, "http://service");
    const isKnown = request.headers.authorization === `Bearer ${KEY}` && pathname === "/api/v1/rules";
    const from = Number(searchParams.get("cursor") ?? 0);
    const page = { rules: rules.slice(from, from + 2), ...(from + 2 < rules.length && { next: String(from + 2) }) };
    const done = { created: ["new"], updated: [], removed: ["old", "older"], unchanged: 3 };
    const {
      status,
      body: answered,
      headers = {},
    } = answer(request) ?? {
      status: isKnown ? 200 : 401,
      body: JSON.stringify(
        isKnown ? (method === "GET" ? page : done) : { title: "Unauthenticated", detail: "no such key" },
      ),
    };
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(answered);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** A rule as a service tells of it; a newer service may say more. */
export function stored(fields: Fields): Fields {
  const rest = { algorithm: "token_bucket", burst: null, tier: null, mode: "enforce", on_error: "local" };
  const kept = { created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z", version: 7 };
  return { rule_id: fields.name, ...rest, consistency: "strict", ...fields, ...kept, from_the_future: 1 };
}
