/** Text that is not JSON, at the first character that cannot be there. */
export class JsonFault extends Error {
  /** Where in the scanned text that character is; the text's length if it ended too early. */
  readonly offset: number;

  constructor(offset: number, problem: string) {
    super(problem);
    this.offset = offset;
  }
}

/** Says what was expected in the place of the character at `offset`. */
export function unexpected(text: string, offset: number, expected: string): JsonFault {
  const found = text.codePointAt(offset);
  const shown = found === undefined ? "the end" : JSON.stringify(String.fromCodePoint(found));
  return new JsonFault(offset, `expected ${expected}, found ${shown}`);
}
