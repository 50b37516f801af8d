const HEAD_END = "\r\n\r\n";
const LAST_CHUNK = "\r\n0\r\n\r\n";
const LENGTH = /\r\ncontent-length: *(\d+)/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked/i;
const LIMITED = /\r\n(x-)?ratelimit/i;

/** Whether this is a complete response. The next request is sent only afterwards, so nothing can follow it. */
export function isWhole(text: string): boolean {
  const end = text.indexOf(HEAD_END);
  if (end < 0) return false;
  const head = text.slice(0, end);
  const length = LENGTH.exec(head);
  if (length !== null) return text.length >= end + HEAD_END.length + Number(length[1]);
  if (CHUNKED.test(head)) return text.endsWith(LAST_CHUNK);
  throw new Error(`a response has no length: ${head}`);
}

/** A server that answers incorrectly is not fast. */
export function requireRight(text: string, { limited }: { readonly limited: boolean }): void {
  const head = text.slice(0, text.indexOf(HEAD_END));
  if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(`answered ${head.split("\r\n", 1)[0]}`);
  if (LIMITED.test(head) !== limited) throw new Error(`answered ${limited ? "without" : "with"} RateLimit headers`);
  if (!text.includes('"hello"')) throw new Error("answered with another body");
}
