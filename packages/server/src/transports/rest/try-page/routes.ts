import type { App } from "../app.ts";
import { ICON } from "./icon.ts";
import { HTML } from "./page-html.ts";
import { SCRIPT } from "./script/script.ts";
import { STYLE } from "./style.ts";

/** Allows only files of this service, and no framing. */
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS = {
  "content-security-policy": CSP,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
};

/** A page that lists the routes of /openapi.json and sends requests to them. It forgets the key when it is closed. */
export function tryPageRoutes(app: App): void {
  const hidden = { schema: { hide: true } };
  app.get("/", hidden, (_request, reply) => reply.redirect("/docs"));
  const files = [
    ["/docs", "text/html; charset=utf-8", HTML],
    ["/docs/page.js", "text/javascript; charset=utf-8", SCRIPT],
    ["/docs/page.css", "text/css; charset=utf-8", STYLE],
    ["/docs/icon.svg", "image/svg+xml", ICON],
  ] as const;
  for (const [url, type, text] of files) {
    app.get(url, hidden, (_request, reply) => reply.headers(HEADERS).type(type).send(text));
  }
}
