/** A record of a CSV file, and the line it starts on. */
export interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

const NO_END = "a quoted field is not closed";
/** Bounds memory if a quote is never closed. */
const LONGEST_FIELD = 1024 * 1024;

/** Parses CSV (RFC 4180) from text that arrives in chunks. Quoted fields may contain commas, quotes and line breaks. */
export class CsvReader {
  private line = 1;
  private begin = 1;
  private field = "";
  private fields: string[] = [];
  private place: "start" | "plain" | "quoted" | "quote" = "start";
  private afterReturn = false;

  /** The records that end in this chunk. */
  *write(text: string): Iterable<CsvRecord> {
    for (const character of text) {
      const record = this.take(character);
      if (record !== undefined) yield record;
    }
  }

  /** The last record, if no line break follows it. Throws if a quote is still open. */
  end(): CsvRecord | undefined {
    if (this.place === "quoted") throw new CsvFault(this.begin, NO_END);
    return this.fields.length > 0 || this.place !== "start" ? this.endRecord() : undefined;
  }

  private take(character: string): CsvRecord | undefined {
    const isSecondHalf = character === "\n" && this.afterReturn;
    this.afterReturn = character === "\r";
    const isBreak = character === "\n" || character === "\r";
    if (isBreak && !isSecondHalf) this.line += 1;
    if (this.place === "quoted") {
      if (character === '"') this.place = "quote";
      else this.field += character;
      if (this.field.length > LONGEST_FIELD) throw new CsvFault(this.begin, NO_END);
      return undefined;
    }
    if (isSecondHalf) return undefined;
    if (isBreak) return this.fields.length > 0 || this.place !== "start" ? this.endRecord() : this.skipEmptyLine();
    if (character === ",") this.endField();
    else if (character === '"' && this.place === "quote") this.continueQuoted();
    else if (character === '"' && this.place === "start") this.place = "quoted";
    else if (this.place === "quote" || character === '"') {
      throw new CsvFault(this.line, 'a field with quotes must be written as "a ""quoted"" word"');
    } else {
      this.field += character;
      this.place = "plain";
    }
    return undefined;
  }

  private continueQuoted(): void {
    this.field += '"';
    this.place = "quoted";
  }

  private skipEmptyLine(): undefined {
    this.begin = this.line;
  }

  private endField(): void {
    this.fields.push(this.field);
    this.field = "";
    this.place = "start";
  }

  private endRecord(): CsvRecord {
    this.endField();
    const record = { line: this.begin, fields: this.fields };
    this.fields = [];
    this.begin = this.line;
    return record;
  }
}

export class CsvFault extends Error {
  readonly line: number;

  constructor(line: number, problem: string) {
    super(problem);
    this.line = line;
  }
}
