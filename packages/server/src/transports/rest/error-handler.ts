import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { Log } from "../../runtime/log.ts";
import { internalProblem, problemOf } from "./error-to-problem.ts";
import { sendProblem } from "./reply.ts";
import type { Calls } from "./request-metrics.ts";

/** Turns whatever a route or a hook throws into a problem response. */
export class Errors {
  private readonly calls: Calls;
  private readonly log: Pick<Log, "error" | "warn"> | undefined;

  constructor(calls: Calls, log: Pick<Log, "error" | "warn"> | undefined) {
    this.calls = calls;
    this.log = log;
  }

  readonly answer = (error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void => {
    const problem = problemOf(error, request) ?? internalProblem(request);
    if (problem.body.status >= 500) this.log?.error({ err: error, request_id: request.id }, problem.body.title);
    reply.headers(problem.headers);
    sendProblem(reply, problem.body);
    const { url, config } = request.routeOptions;
    if (url === undefined) this.calls.lost(problem.body.status);
    else if (config?.countsItself === true) this.calls.ended(url, request.arrivedAt, problem.body.status);
  };
}
