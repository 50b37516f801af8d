import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { App } from "./app.ts";
import { Problem } from "./problem.ts";

/** Where the build puts the dashboard, next to the compiled service. */
const FOLDER = new URL("../../../dist/dashboard/", import.meta.url);

/** Allows only files of this service, workers among them, and no framing. */
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS = {
  "content-security-policy": CSP,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
};

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const MISSING = `<!doctype html>
<html lang="en">
<title>Headgate</title>
<p>The dashboard has not been built: run npm run build. The API works; see <a href="/openapi.json">/openapi.json</a>.</p>
</html>
`;

const params = z.object({ file: z.string() });

/** A file of the dashboard. */
class DashboardFile {
  readonly #plain: Buffer;
  readonly #type: string;
  readonly #cached = new Map<string, Buffer>();

  constructor(name: string, content: Buffer) {
    this.#plain = content;
    this.#type = TYPES[extname(name)] ?? "application/octet-stream";
  }

  send(request: FastifyRequest, reply: FastifyReply, cacheControl: string): FastifyReply {
    reply.headers(HEADERS).headers({ "cache-control": cacheControl, vary: "accept-encoding" }).type(this.#type);
    const encoding = encodingFor(request.headers["accept-encoding"]);
    if (encoding === undefined) return reply.send(this.#plain);
    return reply.header("content-encoding", encoding).send(this.#encoded(encoding));
  }

  /** Compressed once, when first requested. */
  #encoded(encoding: "br" | "gzip"): Buffer {
    const before = this.#cached.get(encoding);
    if (before !== undefined) return before;
    const made = encoding === "gzip" ? gzipSync(this.#plain) : brotliCompressSync(this.#plain, BROTLI);
    this.#cached.set(encoding, made);
    return made;
  }
}

/** Above this quality, compression takes hundreds of milliseconds, in which no check is answered. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };

type DashboardFiles = ReadonlyMap<string, DashboardFile>;

/** The files of the dashboard by name; empty if it has not been built. */
export function dashboardFiles(folder: URL = FOLDER): DashboardFiles {
  const files = new Map<string, DashboardFile>();
  const add = (path: string, name: string): void => {
    files.set(name, new DashboardFile(name, readFileSync(new URL(path, folder))));
  };
  try {
    add("index.html", "index.html");
    for (const name of readdirSync(new URL("assets/", folder))) add(`assets/${name}`, name);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
  return files;
}

/** The dashboard. Its parts are one page, whose address after # says which part is shown. */
export function dashboardRoutes(app: App, files: DashboardFiles): void {
  const hidden = { schema: { hide: true } };
  const page = files.get("index.html") ?? new DashboardFile("index.html", Buffer.from(MISSING));
  app.get("/", hidden, (request, reply) => page.send(request, reply, "no-cache"));
  // Its address in earlier versions.
  app.get("/docs", hidden, (_request, reply) => reply.redirect("/#/api"));
  app.get("/assets/:file", { schema: { hide: true, params } }, (request, reply) => {
    const file = files.get(request.params.file);
    if (file === undefined || file === page) throw new Problem("route_not_found");
    // The name of a file changes with its content.
    return file.send(request, reply, "public, max-age=31536000, immutable");
  });
}

function encodingFor(accepted: string | undefined): "br" | "gzip" | undefined {
  if (accepted === undefined) return undefined;
  if (/\bbr\b/.test(accepted)) return "br";
  return /\bgzip\b/.test(accepted) ? "gzip" : undefined;
}
