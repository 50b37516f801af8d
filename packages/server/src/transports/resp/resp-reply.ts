/** The version of the protocol that a client has chosen. */
export type Protocol = 2 | 3;

/** What a reply consists of. Objects are maps, which version 2 of the protocol writes as lists. */
export type ReplyValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly ReplyValue[]
  | { readonly [key: string]: ReplyValue };

export const OK = "+OK\r\n";

/** An error as clients expect it: a word in upper case, then a message on one line. */
export class ErrorReply {
  readonly word: string;
  readonly text: string;

  constructor(word: string, message: string) {
    this.word = word;
    this.text = `-${word} ${bytesOf(message.replace(/[\r\n]+/g, " "))}\r\n`;
  }
}

export type Reply = string | ErrorReply;

export function integerReply(value: number): string {
  return `:${value}\r\n`;
}

const LINES = Array.from({ length: 4_096 }, (_, value) => integerReply(value));

/** The same for numbers that are mostly small, without making a string each time. */
export function smallIntegerReply(value: number): string {
  return LINES[value] ?? integerReply(value);
}

/** A string of bytes, as the client sent them. */
export function bulkReply(bytes: string): string {
  return `$${bytes.length}\r\n${bytes}\r\n`;
}

export function reply(value: ReplyValue, protocol: Protocol): string {
  switch (typeof value) {
    case "string":
      return bulkReply(bytesOf(value));
    case "number":
      return numberReply(value, protocol);
    case "boolean":
      return protocol === 3 ? `#${value ? "t" : "f"}\r\n` : integerReply(value ? 1 : 0);
    case "undefined":
      return nullReply(protocol);
    default:
      return value === null ? nullReply(protocol) : listReply(value, protocol);
  }
}

function listReply(
  value: Exclude<ReplyValue, string | number | boolean | null | undefined>,
  protocol: Protocol,
): string {
  if (isList(value)) return `*${value.length}\r\n${value.map((item) => reply(item, protocol)).join("")}`;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  const head = protocol === 3 ? `%${entries.length}` : `*${entries.length * 2}`;
  return `${head}\r\n${entries.map(([key, item]) => reply(key, protocol) + reply(item, protocol)).join("")}`;
}

function isList(value: object): value is readonly ReplyValue[] {
  return Array.isArray(value);
}

function nullReply(protocol: Protocol): string {
  return protocol === 3 ? "_\r\n" : "$-1\r\n";
}

/** Version 2 has only integers. */
function numberReply(value: number, protocol: Protocol): string {
  if (Number.isSafeInteger(value)) return integerReply(value);
  return protocol === 3 ? `,${value}\r\n` : bulkReply(String(value));
}

/** Text in UTF-8, one character for each byte. */
function bytesOf(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
