import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer, type ServerOptions as HttpsOptions } from "node:https";
import { type FastifyBaseLogger, type FastifyInstance, fastify } from "fastify";
import { serializerCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import type { Log } from "../../runtime/log.ts";
import { SelfLimits } from "../shared/own-limits.ts";
import { guardRoutes } from "./authorize.ts";
import { CheckResponses } from "./check-responses.ts";
import { DirectChecks } from "./check-route.fast.ts";
import { answerClientError } from "./client-errors.ts";
import { farewell } from "./connection-close.ts";
import { dashboardFiles, dashboardRoutes } from "./dashboard-routes.ts";
import { announceDeprecations, DEPRECATIONS } from "./deprecation.ts";
import { allowEmptyDelete } from "./empty-delete.ts";
import { Errors } from "./error-handler.ts";
import { rememberWrites } from "./idempotent-writes.ts";
import { rejectOtherMethods } from "./method-not-allowed.ts";
import { describeRoutes, openApiRoute } from "./openapi.ts";
import { Problem } from "./problem.ts";
import { Calls } from "./request-metrics.ts";
import type { RestParts, WholeParts } from "./rest-dependencies.ts";
import { authRoutes } from "./routes/auth-routes.ts";
import { checkRoutes } from "./routes/check-routes.ts";
import { draftRoutes } from "./routes/draft-routes.ts";
import { explainRoutes } from "./routes/explain-routes.ts";
import { historyRoutes } from "./routes/history-routes.ts";
import { keyRoutes } from "./routes/key-routes.ts";
import { liveRoutes } from "./routes/live-routes.ts";
import { nodeRoutes } from "./routes/node-routes.ts";
import { recordingRoutes } from "./routes/recording-routes.ts";
import { reservationRoutes } from "./routes/reservation-routes.ts";
import { ruleRoutes } from "./routes/rule-routes.ts";
import { sessionRoutes } from "./routes/session-routes.ts";
import { userRoutes } from "./routes/user-routes.ts";
import { validateRequest } from "./validate-request.ts";

/** The app that routes are added to. */
export type App = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>;

export interface RestOptions {
  /** Default: nothing is logged. */
  readonly logger?: Pick<Log, "error" | "warn"> | undefined;
  /** TLS options: certificate, key, and the authority of client certificates. */
  readonly https?: HttpsOptions | undefined;
  /** Maximum time for a client to send a request. Default: 10,000. */
  readonly requestTimeoutMs?: number;
  /** Maximum time for its headers. Default: 5,000. */
  readonly headersTimeoutMs?: number;
  /** Whether connections close after the next response. Default: never. */
  readonly isClosing?: () => boolean;
}

const BODY_LIMIT = 64 * 1024;
/** Longer than proxies keep idle connections: the side that sends requests must close first. */
const KEEP_ALIVE_MS = 75_000;
const HEADER_LIMIT = 16 * 1024;
/** Ids are percent-encoded: up to nine characters for one. */
const LONGEST_PARAMETER = 8 * 1024;

/** The REST API, ready to listen. */
export function makeRest(given: RestParts, options: RestOptions = {}): FastifyInstance {
  const parts: WholeParts = { ...given, selfLimits: given.selfLimits ?? new SelfLimits() };
  const { deprecations = DEPRECATIONS, now = Date.now } = parts;
  const calls = new Calls(parts.telemetry);
  const errors = new Errors(calls, options.logger);
  const responses = new CheckResponses(calls);
  const direct = new DirectChecks(parts, responses);
  // Fastify adds the headers of a deprecated route.
  const app = bareApp(options, errors, deprecations["POST /api/v1/check"] === undefined ? direct : undefined);
  calls.count(app);
  guardRoutes(app, parts);
  rememberWrites(app, { answered: parts.database.answered, now, log: options.logger });
  allowEmptyDelete(app);
  announceDeprecations(app, deprecations);
  const rejectTheOthers = rejectOtherMethods(app);
  const description = describeRoutes(app);
  app.register(async (root: App) => {
    nodeRoutes(root, parts);
    openApiRoute(root, description);
    dashboardRoutes(root, dashboardFiles());
  });
  app.register(
    async (api: App) => {
      sessionRoutes(api, parts);
      checkRoutes(api, parts, responses, direct);
      reservationRoutes(api, parts);
      authRoutes(api, parts);
      explainRoutes(api, parts);
      ruleRoutes(api, parts);
      draftRoutes(api, parts);
      recordingRoutes(api, parts);
      userRoutes(api, parts);
      keyRoutes(api, parts);
      historyRoutes(api, parts);
      liveRoutes(api, parts);
    },
    { prefix: "/api/v1" },
  );
  app.register(async () => rejectTheOthers());
  return app;
}

/** In place of the default schema compilers: fastify loads them, which takes a while, even if others are set. */
function unused(): never {
  throw new Error("schemas are compiled by zod");
}

/**
 * Without a logger: fastify would create a child logger for each request, which costs more than a check. The few log
 * lines are written here.
 */
function bareApp(options: RestOptions, errors: Errors, direct: DirectChecks | undefined): App {
  const { https, requestTimeoutMs = 10_000, headersTimeoutMs = 5_000, isClosing = () => false } = options;
  const settings = {
    ServerResponse: farewell(isClosing),
    maxHeaderSize: HEADER_LIMIT,
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    // Often enough to find slow clients in time.
    connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
  };
  const app = fastify({
    serverFactory: (fastify) => {
      const handler = direct?.before(fastify) ?? fastify;
      if (https === undefined) return createServer(settings, handler);
      return createSecureServer({ ...https, ...settings }, handler);
    },
    bodyLimit: BODY_LIMIT,
    schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    // Accepted requests are answered even while the node shuts down.
    return503OnClosing: false,
    clientErrorHandler: answerClientError,
    frameworkErrors: errors.answer,
  });
  app.setValidatorCompiler(validateRequest);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler(errors.answer);
  app.setNotFoundHandler((request, reply) => errors.answer(new Problem("route_not_found"), request, reply));
  // Only JSON is accepted.
  app.removeContentTypeParser("text/plain");
  return app.withTypeProvider<ZodTypeProvider>();
}
