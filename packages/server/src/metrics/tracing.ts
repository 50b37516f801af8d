import { type Attributes, isSpanContextValid, type Span, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import type { CheckRequest, CheckResult, CheckService, Correction, RuleCheckRequest } from "../checks/check.ts";

/** The service with a span for each call if OpenTelemetry is set up; otherwise the service itself. */
export function traced(service: CheckService): CheckService {
  const tracer = trace.getTracer("headgate");
  return isListening(tracer) ? new TracedService(service, tracer) : service;
}

/** Without an SDK, spans have no identity. A span that never ends is never exported. */
function isListening(tracer: Tracer): boolean {
  return isSpanContextValid(tracer.startSpan("headgate.start").spanContext());
}

class TracedService implements CheckService {
  private readonly service: CheckService;
  private readonly tracer: Tracer;

  constructor(service: CheckService, tracer: Tracer) {
    this.service = service;
    this.tracer = tracer;
  }

  check(request: CheckRequest): CheckResult | Promise<CheckResult> {
    return this.within("headgate.check", attributesOf(request), () => this.service.check(request));
  }

  checkRule(request: RuleCheckRequest): CheckResult | Promise<CheckResult> {
    return this.within("headgate.check", { "headgate.cost": request.cost }, () => this.service.checkRule(request));
  }

  peek(request: CheckRequest): CheckResult | Promise<CheckResult> {
    return this.within("headgate.peek", attributesOf(request), () => this.service.peek(request));
  }

  async correct(action: Correction, request: CheckRequest): Promise<CheckResult> {
    return this.within(`headgate.${action}`, attributesOf(request), () => this.service.correct(action, request));
  }

  reset(...args: Parameters<CheckService["reset"]>): ReturnType<CheckService["reset"]> {
    const span = this.tracer.startSpan("headgate.reset", { attributes: { "headgate.dimension": args[0].dimension } });
    return this.service.reset(...args).then(
      (result) => {
        span.end();
        return result;
      },
      (error: unknown) => failed(span, error),
    );
  }

  close(): Promise<void> {
    return this.service.close();
  }

  private within(
    name: string,
    attributes: Attributes,
    decide: () => CheckResult | Promise<CheckResult>,
  ): CheckResult | Promise<CheckResult> {
    const span = this.tracer.startSpan(name, { attributes });
    try {
      const result = decide();
      if (!("then" in result)) return decided(span, result);
      return result.then(
        (value) => decided(span, value),
        (error: unknown) => failed(span, error),
      );
    } catch (error) {
      return failed(span, error);
    }
  }
}

/** Spans do not contain identifiers, because traces have more readers. */
function attributesOf({ dimension, endpoint, cost }: CheckRequest): Attributes {
  return { "headgate.dimension": dimension, "headgate.endpoint": endpoint, "headgate.cost": cost };
}

function decided(span: Span, result: CheckResult): CheckResult {
  span.setAttribute("headgate.allowed", result.allowed);
  if (result.verdict !== undefined) {
    const { rule, source, state } = result.verdict.deciding;
    span.setAttributes({ "headgate.rule": rule, "headgate.source": source, "headgate.state": state });
  }
  span.end();
  return result;
}

function failed(span: Span, error: unknown): never {
  // Only the type, because a message may quote the request.
  span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : typeof error });
  span.end();
  throw error;
}
