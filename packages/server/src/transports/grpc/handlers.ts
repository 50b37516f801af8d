import {
  type Metadata,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { after, type MaybePromise } from "headgate/http";
import type { Principal } from "../../access/key-ring.ts";
import type { CheckRequest, CheckResult, CheckService, Correction } from "../../checks/check.ts";
import { weightOf } from "../../checks/check-weight.ts";
import { RequestError } from "../../checks/request-error.ts";
import type { Telemetry } from "../../metrics/telemetry.ts";
import { checkMany, requireChecks, weightOfMany } from "./batch-checks.ts";
import {
  readBatch,
  readCheck,
  readStreamed,
  requireDimension,
  writeAnswer,
  writeBatch,
  writeQuota,
  writeReset,
  writeStreamed,
} from "./check-codec.ts";
import { AnsweringStream } from "./check-stream.ts";
import { type Access, type AccessOptions, Rejected } from "./grpc-access.ts";
import { CANCELLED, type Failure, failureOf, INTERNAL, STOPPING, serviceError } from "./grpc-status.ts";
import { requireNoKeyInMetadata, useKeyOfMetadata } from "./idempotency-metadata.ts";
import { decode, MessageWriter } from "./message-codec.ts";
import { METHOD_ROLES, type MethodName } from "./method-roles.ts";
import { type ReservationCall, ReservationCalls, type Reserving } from "./reservation-calls.ts";

export interface HandlerOptions extends AccessOptions {
  readonly service: Pick<CheckService, "check" | "peek" | "reset" | "correct">;
  readonly telemetry: Pick<Telemetry, "called">;
  readonly reservations: Reserving;
  /** Called for unexpected errors. */
  readonly onError: (error: unknown) => void;
}

type UnaryCall = ServerUnaryCall<Buffer, Buffer>;
type Answering = (
  message: Buffer,
  principal: Principal,
  metadata: Metadata,
  call: Pick<UnaryCall, "cancelled" | "once">,
) => MaybePromise<Buffer>;

/** The methods of the service. Messages are passed as bytes: one that cannot be parsed is a mistake of the client. */
export class Handlers {
  private readonly options: HandlerOptions;
  private readonly access: Access;
  private readonly writer = new MessageWriter();
  private readonly streams = new Set<AnsweringStream>();
  private readonly calls: ReservationCalls;

  constructor(options: HandlerOptions, access: Access) {
    this.options = options;
    this.access = access;
    this.calls = new ReservationCalls(options.reservations, access, this.failure);
  }

  /** By the names in the service definition. */
  get methods() {
    const { calls } = this;
    return {
      checkRateLimit: this.unary("CheckRateLimit", (message, _, metadata) => this.check(message, metadata)),
      getRemainingQuota: this.unary("GetRemainingQuota", (message) => this.quota(message)),
      resetLimit: this.unary("ResetLimit", (message, principal) => this.reset(message, principal)),
      checkRateLimitBatch: this.unary("CheckRateLimitBatch", (message, _, metadata) => this.batch(message, metadata)),
      checkRateLimitStream: (call: ServerDuplexStream<Buffer, Buffer>) => this.stream(call),
      refund: this.unary("Refund", (message, _, metadata) => this.correct("refund", message, metadata)),
      penalize: this.unary("Penalize", (message, _, metadata) => this.correct("penalize", message, metadata)),
      reserve: this.unary("Reserve", this.reserving(calls.reserve)),
      reserveBatch: this.unary("ReserveBatch", this.reserving(calls.reserveBatch)),
      extend: this.unary("Extend", this.reserving(calls.extend)),
      extendBatch: this.unary("ExtendBatch", this.reserving(calls.extendBatch)),
      settle: this.unary("Settle", this.reserving(calls.settle)),
      settleBatch: this.unary("SettleBatch", this.reserving(calls.settleBatch)),
      release: this.unary("Release", this.reserving(calls.release)),
      releaseBatch: this.unary("ReleaseBatch", this.reserving(calls.releaseBatch)),
    };
  }

  /** Ends all streams, each after everything that was read is answered. */
  endStreams(): void {
    for (const stream of this.streams) stream.stop(new Rejected(STOPPING));
  }

  private check(message: Buffer, metadata: Metadata): MaybePromise<Buffer> {
    const check = decode(readCheck, message);
    this.access.requireRoom(weightOf(check.endpoint));
    requireDimension(check);
    useKeyOfMetadata(check, metadata);
    const { withLimits } = check;
    return after(this.options.service.check(check), (result) => {
      return this.writer.encode(() => writeAnswer({ result, withLimits }, this.writer));
    });
  }

  private quota(message: Buffer): MaybePromise<Buffer> {
    const check = decode(readCheck, message);
    this.access.requireRoom(weightOf(check.endpoint));
    requireDimension(check);
    const { identifier, dimension, endpoint, method, cost } = check;
    return after(this.options.service.peek({ identifier, dimension, endpoint, method, cost }), (result) => {
      return this.writer.encode(() => writeQuota(result, this.writer));
    });
  }

  private async reset(message: Buffer, principal: Principal): Promise<Buffer> {
    await this.access.requireTurn("write", principal);
    // Its fields are the first ones of a check.
    const check = decode(readCheck, message);
    requireDimension(check);
    const { identifier, dimension, endpoint } = check;
    const identity = endpoint === "" ? { identifier, dimension } : { identifier, dimension, endpoint };
    const { reset } = await this.options.service.reset(identity, principal);
    return this.writer.encode(() => writeReset(reset, this.writer));
  }

  private batch(message: Buffer, metadata: Metadata): MaybePromise<Buffer> {
    return this.each(message, metadata, this.checkOne);
  }

  /** Corrections are independent of each other, as the checks of a batch are. */
  private correct(action: Correction, message: Buffer, metadata: Metadata): MaybePromise<Buffer> {
    return this.each(message, metadata, async (check) => {
      if (check.cost < 1) throw new RequestError("cost", `must be a whole number of at least 1, got ${check.cost}`);
      return this.options.service.correct(action, check);
    });
  }

  private readonly checkOne = (check: CheckRequest): MaybePromise<CheckResult> => this.options.service.check(check);

  private each(
    message: Buffer,
    metadata: Metadata,
    ask: (check: CheckRequest) => MaybePromise<CheckResult>,
  ): MaybePromise<Buffer> {
    requireNoKeyInMetadata(metadata);
    const { checks } = decode(readBatch, message);
    requireChecks(checks);
    this.access.requireRoom(weightOfMany(checks));
    return after(checkMany(ask, checks, this.failure), ({ answers, errors }) => {
      return this.writer.encode(() => writeBatch(answers, errors, this.writer));
    });
  }

  private streamed(message: Buffer): MaybePromise<Buffer> {
    const { correlationId, checks } = decode(readStreamed, message);
    requireChecks(checks);
    this.access.requireRoom(weightOfMany(checks));
    return after(checkMany(this.checkOne, checks, this.failure), ({ answers, errors }) => {
      return this.writer.encode(() => writeStreamed(correlationId, answers, errors, this.writer));
    });
  }

  /** If the client no longer waits, nothing stays reserved, unless it can ask again under an idempotency key. */
  private reserving(answer: ReservationCall): Answering {
    return (message, principal, metadata, call) => {
      const controller = new AbortController();
      const cancel = (): void => controller.abort(new Rejected(CANCELLED));
      if (call.cancelled) cancel();
      else call.once("cancelled", cancel);
      return answer(message, principal, metadata, controller.signal);
    };
  }

  private unary(name: MethodName, answer: Answering) {
    return (call: UnaryCall, callback: sendUnaryData<Buffer>): void => {
      const started = performance.now();
      const fail = (error: unknown): void => {
        const failure = this.failure(error);
        callback(serviceError(failure));
        this.called(name, failure.code, started);
      };
      const succeed = (message: Buffer): void => {
        callback(null, message);
        this.called(name, status.OK, started);
      };
      try {
        // Again, now that the message has arrived: the key may have been revoked meanwhile.
        const principal = this.access.require(call.metadata, METHOD_ROLES[name]);
        const answered = answer(call.request, principal, call.metadata, call);
        if (answered instanceof Promise) answered.then(succeed).catch(fail);
        else succeed(answered);
      } catch (error) {
        fail(error);
      }
    };
  }

  private stream(call: ServerDuplexStream<Buffer, Buffer>): void {
    const started = performance.now();
    const answer = (message: Buffer): MaybePromise<Buffer> => {
      // For each message: the key may have been revoked meanwhile.
      this.access.require(call.metadata, METHOD_ROLES.CheckRateLimitStream);
      return this.streamed(message);
    };
    const stream = new AnsweringStream(call, answer, (error) => {
      this.streams.delete(stream);
      if (error === undefined) {
        call.end();
        this.called("CheckRateLimitStream", call.cancelled ? status.CANCELLED : status.OK, started);
        return;
      }
      const failure = this.failure(error);
      call.emit("error", serviceError(failure));
      this.called("CheckRateLimitStream", failure.code, started);
    });
    this.streams.add(stream);
    try {
      requireNoKeyInMetadata(call.metadata);
    } catch (error) {
      stream.stop(error);
    }
  }

  private readonly failure = (error: unknown): Failure => {
    if (error instanceof Rejected) return error.failure;
    const failure = failureOf(error);
    if (failure !== undefined) return failure;
    this.options.onError(error);
    return INTERNAL;
  };

  private called(name: MethodName, code: status, started: number): void {
    this.options.telemetry.called("grpc", name, status[code], (performance.now() - started) / 1000);
  }
}
