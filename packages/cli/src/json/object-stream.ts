import { InvalidInput } from "../failure.ts";
import { JsonFault, unexpected } from "./fault.ts";
import { endOfString, endOfValue, INCOMPLETE, skipSpace } from "./scan.ts";
import { TextPosition } from "./text-position.ts";
import { Utf8Pieces } from "./utf8.ts";

/** Callbacks for the contents of an ObjectStream. Errors they throw propagate to the caller of `write` and `end`. */
export interface ObjectReader {
  /** Called for each member of the object: whether to read its value whole, by element, or not at all. */
  member(name: string): "whole" | "elements" | "skip";
  /** A value that was requested whole, or that turned out not to be an array. */
  value(name: string, value: unknown): void;
  element(value: unknown, index: number): void;
}

type Place =
  | "start"
  | "first member"
  | "member"
  | "colon"
  | "value"
  | "after value"
  | "first element"
  | "element"
  | "after element"
  | "end";

/** Beyond this size, an incomplete value is scanned again only after the available text has doubled. */
const LARGE = 65_536;

/**
 * Parses one JSON object from bytes that arrive in chunks. Arrays can be read element by element, so that only one
 * element is in memory at a time, however long the array is.
 */
export class ObjectStream {
  private readonly source: string;
  private readonly reader: ObjectReader;
  private readonly utf8 = new Utf8Pieces();
  /** Unconsumed input starts at `at`; `position` covers everything before `text`. */
  private text = "";
  private at = 0;
  private readonly position = new TextPosition();
  private place: Place = "start";
  private enough = 0;
  private stopped = false;

  private name = "";
  private wanted: ReturnType<ObjectReader["member"]> = "skip";
  private index = 0;

  /** `source` names the input in messages. */
  constructor(source: string, reader: ObjectReader) {
    this.source = source;
    this.reader = reader;
  }

  write(piece: Buffer): void {
    const { text, valid } = this.utf8.decode(piece);
    if (this.at > 0) {
      this.position.pass(this.text.slice(0, this.at));
      this.text = this.text.slice(this.at);
      this.at = 0;
    }
    this.text += text;
    if (!valid || this.text.length >= this.enough) this.readOn();
    if (!valid) this.rejectBytes();
  }

  /** Signals the end of the input. */
  end(): void {
    this.readOn();
    if (this.utf8.isUnfinished) this.rejectBytes();
    if (this.stopped || this.place === "end") return;
    throw this.located(new JsonFault(this.text.length, "unexpected end of JSON"));
  }

  /** Whether the reader has stopped the stream. */
  get isStopped(): boolean {
    return this.stopped;
  }

  /** Called by the reader when it needs nothing more; the rest of the input is ignored. */
  stop(): void {
    this.stopped = true;
  }

  private readOn(): void {
    try {
      while (!this.stopped) {
        this.at = skipSpace(this.text, this.at);
        if (this.at >= this.text.length || !this.step()) return;
      }
    } catch (error) {
      throw error instanceof JsonFault ? this.located(error) : error;
    }
  }

  /** Reads the next part. Returns false if it is incomplete. `at` must not be white space. */
  private step(): boolean {
    switch (this.place) {
      case "start":
        return this.pass("{", "first member", `an object: "{"`);
      case "first member":
        return this.text[this.at] === "}" ? this.pass("}", "end") : this.readName(`a name in quotes or "}"`);
      case "member":
        return this.readName("a name in quotes");
      case "colon":
        return this.pass(":", "value");
      case "value":
        if (this.wanted !== "whole" && this.text[this.at] === "[") return this.pass("[", "first element");
        return this.readValue();
      case "after value":
        if (this.text[this.at] === ",") return this.pass(",", "member");
        return this.pass("}", "end", `"," or "}"`);
      case "first element":
        return this.text[this.at] === "]" ? this.pass("]", "after value") : this.readElement();
      case "element":
        return this.readElement();
      case "after element":
        if (this.text[this.at] === ",") return this.pass(",", "element");
        return this.pass("]", "after value", `"," or "]"`);
      case "end":
        throw unexpected(this.text, this.at, "nothing more");
    }
  }

  private pass(mark: string, next: Place, expected = `"${mark}"`): true {
    if (this.text[this.at] !== mark) throw unexpected(this.text, this.at, expected);
    this.at += 1;
    this.place = next;
    return true;
  }

  private readName(expected: string): boolean {
    const end = this.complete(endOfString(this.text, this.at, expected));
    if (end === INCOMPLETE) return false;
    this.name = JSON.parse(this.text.slice(this.at, end)) as string;
    this.wanted = this.reader.member(this.name);
    this.index = 0;
    this.at = end;
    this.place = "colon";
    return true;
  }

  private readValue(): boolean {
    const end = this.complete(endOfValue(this.text, this.at, 1));
    if (end === INCOMPLETE) return false;
    const value = this.text.slice(this.at, end);
    this.at = end;
    this.place = "after value";
    if (this.wanted !== "skip") this.reader.value(this.name, JSON.parse(value));
    return true;
  }

  private readElement(): boolean {
    const end = this.complete(endOfValue(this.text, this.at, 2));
    if (end === INCOMPLETE) return false;
    const element = this.text.slice(this.at, end);
    this.at = end;
    this.place = "after element";
    if (this.wanted === "elements") this.reader.element(JSON.parse(element), this.index);
    this.index += 1;
    return true;
  }

  private rejectBytes(): void {
    if (!this.stopped)
      throw this.located(new JsonFault(this.text.length, "expected UTF-8 text, found an invalid byte"));
  }

  /** If something is incomplete, records how much input is needed before scanning again is worthwhile. */
  private complete(end: number): number {
    const length = this.text.length - this.at;
    this.enough = end === INCOMPLETE && length > LARGE ? 2 * length : 0;
    return end;
  }

  private located({ offset, message }: JsonFault): InvalidInput {
    this.position.pass(this.text.slice(0, offset));
    const { line, column } = this.position;
    return new InvalidInput(`${this.source}: line ${line}, column ${column}: ${message}`);
  }
}
