const LOW_SURROGATES = /[\udc00-\udfff]/g;

/** Counts lines and columns, both from 1, in a text that arrives in chunks. A column is a character, not a byte. */
export class TextPosition {
  line = 1;
  column = 1;

  /** Advances past `text`. */
  pass(text: string): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      this.line += 1;
      this.column = 1;
      start = end + 1;
    }
    const rest = start === 0 ? text : text.slice(start);
    // Count a surrogate pair as one character.
    this.column += rest.length - (rest.match(LOW_SURROGATES)?.length ?? 0);
  }
}
