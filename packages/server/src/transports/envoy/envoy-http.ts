import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { status } from "@grpc/grpc-js";
import { RequestError } from "../../checks/request-error.ts";
import { tlsOptions } from "../../runtime/tls.ts";
import { Rejected } from "../grpc/grpc-access.ts";
import { type Failure, failureOf, INTERNAL } from "../grpc/grpc-status.ts";
import { fieldProblem, PROBLEM_TYPE, type ProblemBody, type ProblemCode, problemBody } from "../rest/problem.ts";
import { Connections } from "../shared/connections.ts";
import { Listener } from "../shared/listener.ts";
import type { RunningTransport } from "../shared/transport.ts";
import { EnvoyAccess } from "./envoy-access.ts";
import { type EnvoyOptions, type EnvoyParts, openEnvoyParts } from "./envoy-parts.ts";
import { answerToJson, requestFromJson } from "./rate-limit-json.ts";

const LARGEST_BODY = 1 << 18;

/** Serves `POST /json` and `/healthcheck` as envoyproxy/ratelimit does; nothing else. */
export async function startEnvoyHttp(options: EnvoyOptions): Promise<RunningTransport> {
  const { settings } = options;
  const address = settings.envoyHttp ?? { host: "127.0.0.1", port: 0 };
  const access = new EnvoyAccess(options, "--envoy-http", address, settings);
  const parts = await openEnvoyParts(options);
  const handler = new HttpHandler(options, access, parts);
  const server = createServer((request, response) => void handler.handle(request, response));
  const connections = new Connections(settings.grpcMaxConnections);
  const { tls, grpcMessageTimeoutMs } = settings;
  server.requestTimeout = grpcMessageTimeoutMs;
  server.headersTimeout = grpcMessageTimeoutMs;
  const listener = new Listener({
    tls: tls && tlsOptions(tls),
    admit: (socket) => connections.admit(socket),
    onConnection: (socket: Socket) => server.emit("connection", socket),
    handshakeTimeoutMs: grpcMessageTimeoutMs,
  });
  try {
    const bound = await listener.listen(address);
    return {
      address: { ...address, port: bound },
      reloadCertificates() {
        if (tls !== undefined) listener.setSecureContext(tlsOptions(tls));
      },
      async stop(graceMs) {
        handler.isStopping = true;
        listener.close();
        await drained(server, handler, graceMs);
        connections.closeAll();
        parts.close();
      },
    };
  } catch (error) {
    parts.close();
    throw error;
  }
}

/** Resolves when no request is in progress, at the latest after the grace period. */
async function drained(server: Server, handler: HttpHandler, graceMs: number): Promise<void> {
  server.closeIdleConnections();
  await Promise.race([handler.idle(), new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
}

class HttpHandler {
  isStopping = false;
  private readonly options: EnvoyOptions;
  private readonly access: EnvoyAccess;
  private readonly parts: EnvoyParts;
  private open = 0;
  private whenIdle: (() => void) | undefined;

  constructor(options: EnvoyOptions, access: EnvoyAccess, parts: EnvoyParts) {
    this.options = options;
    this.access = access;
    this.parts = parts;
  }

  idle(): Promise<void> {
    return this.open === 0
      ? Promise.resolve()
      : new Promise((resolve) => {
          this.whenIdle = resolve;
        });
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.open += 1;
    const started = performance.now();
    const [path] = (request.url ?? "").split("?");
    try {
      if (this.isStopping) response.setHeader("connection", "close");
      await this.answer(path, request, response);
    } catch (error) {
      this.fail(error, response);
    } finally {
      const route = path === "/json" || path === "/healthcheck" ? path : "other";
      const seconds = (performance.now() - started) / 1000;
      this.options.telemetry.called("envoy", route, String(response.statusCode), seconds);
      this.open -= 1;
      if (this.open === 0) this.whenIdle?.();
    }
  }

  private async answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (path === "/healthcheck") {
      response.statusCode = this.isStopping ? 503 : 200;
      response.end(this.isStopping ? "stopping" : "OK");
    } else if (path !== "/json") {
      reject(response, "route_not_found");
    } else if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      reject(response, "method_not_allowed");
    } else {
      await this.json(request, response);
    }
  }

  private async json(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const hasKey = this.access.require(request.headers.authorization, request.socket.remoteAddress);
    const asked = requestFromJson(await bodyOf(request));
    this.access.requireRequest(asked, hasKey);
    const answer = await this.parts.rateLimits.decide(asked, this.options.settings.envoyTimeoutMs);
    response.statusCode = answer.code === "OK" ? 200 : 429;
    response.setHeader("content-type", "application/json");
    response.end(answerToJson(answer));
  }

  private fail(error: unknown, response: ServerResponse): void {
    const failure = error instanceof Rejected ? error.failure : (failureOf(error) ?? INTERNAL);
    if (failure === INTERNAL) this.options.onError(error);
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (error instanceof RequestError) send(response, fieldProblem("body", error.field, error.problem).body);
    else reject(response, codeOf(failure), failure.message);
  }
}

/** The problem for a failure. */
function codeOf({ code }: Failure): ProblemCode {
  switch (code) {
    case status.UNAUTHENTICATED:
      return "unauthenticated";
    case status.PERMISSION_DENIED:
      return "forbidden";
    case status.RESOURCE_EXHAUSTED:
      return "quota_exceeded";
    case status.INVALID_ARGUMENT:
      return "validation_failed";
    case status.UNAVAILABLE:
      return "store_unavailable";
    default:
      return "internal_error";
  }
}

function reject(response: ServerResponse, code: ProblemCode, detail?: string): void {
  send(response, problemBody(code, detail));
}

function send(response: ServerResponse, problem: ProblemBody): void {
  response.statusCode = problem.status;
  response.setHeader("content-type", PROBLEM_TYPE);
  response.end(JSON.stringify(problem));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > LARGEST_BODY) throw new RequestError("body", `must have at most ${LARGEST_BODY} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
