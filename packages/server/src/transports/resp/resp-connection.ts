import { randomInt } from "node:crypto";
import type { Socket } from "node:net";
import { isPromise, type MaybePromise } from "headgate/http";
import type { Principal } from "../../access/key-ring.ts";
import type { CallLimits } from "../../checks/call-limits.ts";
import type { Telemetry } from "../../metrics/telemetry.ts";
import { authenticate, isPrincipal, type KeyCheckOptions } from "../shared/authenticate.ts";
import type { SelfLimits } from "../shared/own-limits.ts";
import { CallRuns } from "./call-runs.ts";
import { BOUNDS, CommandParser, ProtocolError } from "./command-parser.ts";
import type { CommandTable } from "./command-table.ts";
import type { DecisionRuns } from "./decision-runs.ts";
import type { Owner, RespCommand, Session } from "./resp-command.ts";
import {
  errorReplyOf,
  forbidden,
  INTERNAL,
  NO_AUTH,
  overloaded,
  unknownCommand,
  WRONG_KEY,
  wrongArity,
  wrongKeysFrom,
} from "./resp-errors.ts";
import { ErrorReply, type Protocol, type Reply } from "./resp-reply.ts";

/** Commands of a connection that wait for the store. Further ones stay in the socket. */
const MOST_WAITING = 1_024;
/** Bytes of replies that a client has not received. Until it has, its commands are not read. */
const MOST_UNSENT = 256 * 1024;
/** How long a connection may go without a key. */
const KEY_DEADLINE_MS = 10_000;

export interface ConnectionOptions extends KeyCheckOptions {
  readonly commands: CommandTable;
  readonly limits: Pick<CallLimits, "ruleOf">;
  readonly selfLimits: Pick<SelfLimits, "admitChecks" | "returnChecks">;
  readonly telemetry: Pick<Telemetry, "called">;
  readonly decisions: Pick<DecisionRuns, "flush">;
  /** Called when it has presented a valid key. */
  readonly onAuthenticated: (socket: Socket) => void;
  /** Called for unexpected errors. */
  readonly onError: (error: unknown) => void;
}

/** The reply to a command; undefined until there is one. */
interface Slot {
  text: string | undefined;
}

/** One client. Commands are started in order and answered in order, as many at a time as it sends. */
export class RespConnection implements Session {
  readonly id = randomInt(2 ** 47);
  readonly address: string | undefined;
  protocol: Protocol = 2;
  clientName = "";
  owner: Owner | undefined;
  private readonly socket: Socket;
  private readonly options: ConnectionOptions;
  private readonly parser = new CommandParser();
  private readonly calls: CallRuns;
  private readonly deadline: NodeJS.Timeout;
  /** The key that it has presented, as a header. */
  private authorization: string | undefined;
  private principal: Principal | undefined;
  /** Replies that are ready to be sent. */
  private out = "";
  private waiting: Slot[] = [];
  /** How many of them have been moved to `out`. */
  private passed = 0;
  /** Checks that the node has admitted, and that have not begun. */
  private admitted = 0;
  // Most commands are the same as the one before.
  private lastCommand: RespCommand | undefined;
  private lastSpelling = "\0";
  private isSending = false;
  private isFull = false;
  private isAlone = false;
  private isQuitting = false;

  constructor(socket: Socket, options: ConnectionOptions) {
    this.socket = socket;
    this.options = options;
    this.address = socket.remoteAddress;
    this.calls = new CallRuns(options.telemetry);
    this.deadline = setTimeout(() => socket.destroy(), KEY_DEADLINE_MS).unref();
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => {
      this.parser.push(chunk);
      this.work();
    });
    socket.on("drain", () => {
      this.isFull = false;
      this.resume();
    });
    socket.on("close", () => clearTimeout(this.deadline));
  }

  authenticate(key: string): ErrorReply | undefined {
    const authorization = `Bearer ${key}`;
    const owner = authenticate(this.options, "resp", authorization, this.address);
    if (!isPrincipal(owner)) return owner.retryAfterMs > 0 ? wrongKeysFrom(owner.retryAfterMs) : WRONG_KEY;
    this.authorization = authorization;
    this.use(owner);
    this.parser.bounds = BOUNDS;
    clearTimeout(this.deadline);
    this.options.onAuthenticated(this.socket);
    return undefined;
  }

  /** Reads no more commands, and closes the connection when those that were read have been answered. */
  quit(): void {
    this.isQuitting = true;
    this.socket.pause();
    this.sendSoon();
  }

  private get isHeld(): boolean {
    return this.isQuitting || this.isFull || this.isAlone || this.waitingCount >= MOST_WAITING;
  }

  private get waitingCount(): number {
    return this.waiting.length - this.passed;
  }

  /** Starts the commands that have arrived. */
  private work(): void {
    const { parser, calls, options } = this;
    const started = performance.now();
    this.recheckKey();
    try {
      while (!this.isHeld && parser.next()) this.execute();
    } catch (error) {
      this.fail(error);
    }
    calls.flush(started);
    options.decisions.flush();
    if (this.admitted > 0) options.selfLimits.returnChecks(this.admitted);
    this.admitted = 0;
    if (this.isHeld) this.socket.pause();
    this.send();
  }

  private execute(): void {
    const { parser, options } = this;
    let { lastCommand: command } = this;
    if (!parser.is(0, this.lastSpelling)) {
      const spelling = parser.argument(0);
      command = options.commands.find(spelling);
      if (command !== undefined) {
        this.lastCommand = command;
        this.lastSpelling = spelling;
      }
    }
    // The name of a command that does not exist is not a label.
    const name = command?.name ?? "unknown";
    if (command?.isAlone && this.waitingCount > 0) {
      parser.back();
      this.isAlone = true;
      return;
    }
    let result: MaybePromise<Reply>;
    try {
      const rejection = this.rejection(command);
      const replies = rejection === undefined ? command?.runAlike?.(this, parser, 1 + this.admitted) : undefined;
      if (replies !== undefined) {
        this.admitted -= replies.count - 1;
        this.reply(name, replies.text, replies.count);
        return;
      }
      result = rejection ?? command?.run(this, parser) ?? unknownCommand(parser.argument(0));
    } catch (error) {
      result = this.failure(error);
    }
    if (isPromise(result)) {
      if (command?.isAlone) this.isAlone = true;
      this.wait(name, result);
      return;
    }
    this.reply(name, result, 1);
  }

  private reply(name: string, reply: Reply, count: number): void {
    this.calls.add(name, reply, count);
    const text = reply instanceof ErrorReply ? reply.text : reply;
    if (this.waitingCount === 0) this.out += text;
    else this.waiting.push({ text });
  }

  /** Why a command is not carried out; undefined if it is. */
  private rejection(command: RespCommand | undefined): ErrorReply | undefined {
    const { owner, parser } = this;
    if (owner === undefined && !command?.isOpen) return NO_AUTH;
    if (command === undefined) return undefined;
    const { name, arity } = command;
    if (arity < 0 ? parser.count < -arity : parser.count !== arity) return wrongArity(name);
    if (!command.isCheck) return undefined;
    if (!owner?.mayCheck) return forbidden("check", name);
    if (this.admitted > 0) {
      this.admitted -= 1;
      return undefined;
    }
    return this.admit();
  }

  /** Asks for all checks of a packet together, and returns those that it turns out not to have. */
  private admit(): ErrorReply | undefined {
    const { selfLimits } = this.options;
    const { alike } = this.parser;
    if (alike > 1 && selfLimits.admitChecks(alike).allowed) {
      this.admitted = alike - 1;
      return undefined;
    }
    const { allowed, retryAfterMs } = selfLimits.admitChecks(1);
    return allowed ? undefined : overloaded(retryAfterMs);
  }

  /** The key may have been revoked since the last packet. */
  private recheckKey(): void {
    if (this.authorization === undefined) return;
    const principal = this.options.keyRing.authenticate(this.authorization);
    if (principal === this.principal) return;
    if (principal === undefined) this.owner = this.principal = undefined;
    else this.use(principal);
  }

  private use(principal: Principal): void {
    this.principal = principal;
    const { roles, namespace } = principal;
    this.owner = { ...principal, rule: this.options.limits.ruleOf(namespace), mayCheck: roles.includes("check") };
  }

  private wait(name: string, result: Promise<Reply>): void {
    const slot: Slot = { text: undefined };
    const started = performance.now();
    this.waiting.push(slot);
    const answered = (reply: Reply): void => {
      slot.text = reply instanceof ErrorReply ? reply.text : reply;
      this.calls.add(name, reply);
      this.calls.flush(started);
      this.pass();
    };
    result.then(answered, (error: unknown) => answered(this.failure(error)));
  }

  /** Moves replies that have no unanswered command before them. */
  private pass(): void {
    const { waiting } = this;
    for (; this.passed < waiting.length; this.passed += 1) {
      const { text } = waiting[this.passed];
      if (text === undefined) break;
      this.out += text;
    }
    if (this.passed === waiting.length) {
      this.waiting = [];
      this.passed = 0;
      this.isAlone = false;
    }
    this.sendSoon();
  }

  /** When all promises that are settled together have been heard. */
  private sendSoon(): void {
    if (this.isSending) return;
    this.isSending = true;
    process.nextTick(() => {
      this.isSending = false;
      this.options.decisions.flush();
      this.send();
      this.resume();
    });
  }

  private send(): void {
    const { socket, out } = this;
    if (out !== "" && socket.writable) {
      this.out = "";
      socket.write(out, "latin1");
      if (socket.writableLength > MOST_UNSENT) this.isFull = true;
    }
    if (this.isFull) socket.pause();
    if (this.isQuitting && this.waitingCount === 0 && !socket.writableEnded) {
      socket.end();
      // A client that does not close its side must not keep the connection.
      socket.resume();
    }
  }

  private resume(): void {
    if (this.isHeld || !this.socket.isPaused()) return;
    // Commands may have arrived before it was paused.
    if (this.parser.unread > 0) this.work();
    if (!this.isHeld) this.socket.resume();
  }

  private failure(error: unknown): ErrorReply {
    const known = errorReplyOf(error);
    if (known !== undefined) return known;
    this.options.onError(error);
    return INTERNAL;
  }

  /** After such an error it is not known where the next command begins. */
  private fail(error: unknown): void {
    if (!(error instanceof ProtocolError)) {
      this.options.onError(error);
      this.socket.destroy();
      return;
    }
    const reply = new ErrorReply("ERR", `Protocol error: ${error.message}`);
    this.calls.add("unknown", reply);
    if (this.waitingCount === 0) this.out += reply.text;
    else this.waiting.push({ text: reply.text });
    this.quit();
  }
}
