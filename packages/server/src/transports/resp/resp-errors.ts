import { HeadgateError } from "headgate";
import { ErrorReply } from "./resp-reply.ts";

// The words and sentences are those of Redis wherever it has such an error, because clients look for them.

export const NO_AUTH = new ErrorReply("NOAUTH", "Authentication required.");
export const WRONG_KEY = new ErrorReply("WRONGPASS", "invalid username-password pair or user is disabled.");
export const NO_PROTOCOL = new ErrorReply("NOPROTO", "unsupported protocol version");
export const SYNTAX_ERROR = new ErrorReply("ERR", "syntax error");

/** The text of an internal error may contain private data, so only the log has it. */
export const INTERNAL = new ErrorReply("ERR", "internal error; see the log of the service");

export function wrongKeysFrom(retryAfterMs: number): ErrorReply {
  const seconds = Math.ceil(retryAfterMs / 1000);
  return new ErrorReply("WRONGPASS", `too many wrong API keys from this address; retry in ${seconds} s`);
}

export function forbidden(role: string, command: string): ErrorReply {
  return new ErrorReply("NOPERM", `the API key does not have the role ${role}, which '${command}' requires`);
}

/** Clients know the word as: the server is alive, but does not answer now. */
export function overloaded(retryAfterMs: number): ErrorReply {
  const when = Number.isFinite(retryAfterMs) ? `in ${Math.ceil(retryAfterMs)} ms` : "later";
  return new ErrorReply("BUSY", `the node is over capacity (checks_limit); retry ${when}`);
}

export function unknownCommand(name: string): ErrorReply {
  return new ErrorReply("ERR", `unknown command '${printable(name)}'`);
}

export function unknownSubcommand(command: string, name: string): ErrorReply {
  return new ErrorReply("ERR", `unknown subcommand '${printable(name)}'. Try ${command} with another one.`);
}

export function wrongArity(command: string): ErrorReply {
  return new ErrorReply("ERR", `wrong number of arguments for '${command.toLowerCase()}' command`);
}

export function badArgument(name: string, problem: string): ErrorReply {
  return new ErrorReply("ERR", `${name}: ${problem}`);
}

/** The reply to an error that was thrown; undefined if the error is a bug. */
export function errorReplyOf(error: unknown): ErrorReply | undefined {
  if (error instanceof HeadgateError) return new ErrorReply("ERR", error.message);
  return undefined;
}

function printable(text: string): string {
  return text.slice(0, 64).replace(/[^\x20-\x7e]/g, "?");
}
