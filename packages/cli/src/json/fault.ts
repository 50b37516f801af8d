/** A JSON syntax error at the first invalid character. */
export class JsonFault extends Error {
  /** Offset of that character in the scanned text; the length of the text if it ended too early. */
  readonly offset: number;

  constructor(offset: number, problem: string) {
    super(problem);
    this.offset = offset;
  }
}

/** Reports what was expected instead of the character at `offset`. */
export function unexpected(text: string, offset: number, expected: string): JsonFault {
  const found = text.codePointAt(offset);
  const shown = found === undefined ? "the end" : JSON.stringify(String.fromCodePoint(found));
  return new JsonFault(offset, `expected ${expected}, found ${shown}`);
}
