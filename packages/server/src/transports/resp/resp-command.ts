import type { Rule } from "headgate";
import type { MaybePromise } from "headgate/http";
import type { Principal } from "../../access/key-ring.ts";
import type { CommandParser } from "./command-parser.ts";
import type { ErrorReply, Protocol, Reply } from "./resp-reply.ts";

/** The owner of a key, with what its counters are counted under. */
export interface Owner extends Principal {
  readonly rule: Rule;
  /** Whether it has the role that checks require. */
  readonly mayCheck: boolean;
}

/** The state of a connection, as commands see and change it. */
export interface Session {
  readonly id: number;
  readonly address: string | undefined;
  readonly owner: Owner | undefined;
  protocol: Protocol;
  clientName: string;
  /** Presents an API key. Returns the error, if it is not accepted. */
  authenticate(key: string): ErrorReply | undefined;
  /** Closes the connection after everything was answered. */
  quit(): void;
}

/** The arguments of a command, with its name. */
export type Arguments = Pick<CommandParser, "count" | "argument" | "utf8" | "span" | "spans">;

/** The arguments of a command that may be followed by similar ones. */
export type PipelinedArguments = Arguments & Pick<CommandParser, "nextAlike" | "point" | "source" | "start" | "end">;

/** The replies to several commands, none of them an error. */
interface Replies {
  readonly count: number;
  readonly text: string;
}

export interface RespCommand {
  readonly name: string;
  /** Number of arguments with the name; negative: at least so many. As `COMMAND` reports it. */
  readonly arity: number;
  /** Whether it needs no API key. */
  readonly isOpen?: boolean;
  /** Whether it is a check: requires the role, and counts toward `checks_limit`. */
  readonly isCheck?: boolean;
  /** Whether it is started only after all earlier commands were answered, and before any later one is. */
  readonly isAlone?: boolean;
  /** Whether its first argument is a key. */
  readonly hasKey?: boolean;
  run(session: Session, args: Arguments): MaybePromise<Reply>;
  /**
   * Runs this command and up to `most` similar ones that follow it. Undefined if it has to be run separately. Absent if
   * the store does not answer at once.
   */
  runAlike?(session: Session, args: PipelinedArguments, most: number): Replies | undefined;
}
