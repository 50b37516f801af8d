/**
 * Structured fields (RFC 9651) as far as rate limits use them: lists and dictionaries of items with parameters. Inner
 * lists are not supported.
 */
export type BareItem =
  | { readonly type: "string" | "token" | "bytes" | "display"; readonly value: string }
  | { readonly type: "integer" | "decimal" | "date"; readonly value: number }
  | { readonly type: "boolean"; readonly value: boolean };

export interface Item {
  readonly bare: BareItem;
  readonly parameters: ReadonlyMap<string, BareItem>;
}

/** The largest integer of a structured field. */
export const LARGEST_INTEGER = 999_999_999_999_999;

/** Formats a whole number as a structured integer. */
export function integerText(value: number): string {
  return String(value < LARGEST_INTEGER ? Math.floor(value) : LARGEST_INTEGER);
}

/** A quoted string. It may contain only printable ASCII; see `printable`. */
export function stringText(value: string): string {
  return `"${value.replace(/["\\]/g, "\\$&")}"`;
}

/**
 * Percent-encodes what a structured string cannot contain, and the percent sign, so that different texts stay
 * different.
 */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x24\x26-\x7e]+/g, (part) =>
    Array.from(new TextEncoder().encode(part), (byte) => `%${byte.toString(16).padStart(2, "0").toUpperCase()}`).join(
      "",
    ),
  );
}

/** The items of a list; undefined if the field is malformed, in which case it must be ignored as a whole. */
export function parseList(text: string): readonly Item[] | undefined {
  const scanner = new Scanner(text);
  const items: Item[] = [];
  return scanner.members(() => {
    items.push(scanner.item());
  })
    ? items
    : undefined;
}

/** The members of a dictionary; undefined if the field is malformed. */
export function parseDictionary(text: string): ReadonlyMap<string, Item> | undefined {
  const scanner = new Scanner(text);
  const members = new Map<string, Item>();
  return scanner.members(() => {
    members.set(...scanner.member());
  })
    ? members
    : undefined;
}

class Malformed extends Error {}

const TRUE: BareItem = { type: "boolean", value: true };

/** Reads from left to right in a single pass. */
class Scanner {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Reads members separated by commas. Returns whether the whole text was well-formed. */
  members(read: () => void): boolean {
    try {
      this.skip(/ */y);
      while (this.at < this.text.length) {
        read();
        this.skip(/[ \t]*/y);
        if (this.at === this.text.length) return true;
        this.expect(/,/y);
        this.skip(/[ \t]*/y);
        if (this.at === this.text.length) return false;
      }
      return true;
    } catch (error) {
      if (error instanceof Malformed) return false;
      throw error;
    }
  }

  member(): [string, Item] {
    const key = this.key();
    if (this.skip(/=/y) !== "") return [key, this.item()];
    return [key, { bare: TRUE, parameters: this.parameters() }];
  }

  item(): Item {
    return { bare: this.bare(), parameters: this.parameters() };
  }

  private parameters(): ReadonlyMap<string, BareItem> {
    const parameters = new Map<string, BareItem>();
    while (this.skip(/;/y) !== "") {
      this.skip(/ */y);
      const key = this.key();
      parameters.set(key, this.skip(/=/y) === "" ? TRUE : this.bare());
    }
    return parameters;
  }

  private key(): string {
    return this.expect(/[a-z*][a-z0-9_\-.*]*/y);
  }

  private bare(): BareItem {
    switch (this.text[this.at]) {
      case '"':
        return { type: "string", value: this.expect(STRING).slice(1, -1).replace(/\\(.)/g, "$1") };
      case ":":
        return { type: "bytes", value: this.expect(/:[A-Za-z0-9+/=]*:/y).slice(1, -1) };
      case "?":
        return { type: "boolean", value: this.expect(/\?[01]/y) === "?1" };
      case "%":
        return {
          type: "display",
          value: this.expect(/%"(?:[\x20\x21\x23\x24\x26-\x7e]|%[0-9a-f]{2})*"/y).slice(2, -1),
        };
      case "@":
        return { type: "date", value: Number(this.expect(/@-?\d{1,15}/y).slice(1)) };
      default:
        return this.numberOrToken();
    }
  }

  private numberOrToken(): BareItem {
    const token = this.skip(/[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*/y);
    if (token !== "") return { type: "token", value: token };
    const number = this.expect(/-?\d+(?:\.\d*)?/y);
    const [whole, decimals] = number.replace("-", "").split(".");
    if (decimals === undefined ? whole.length > 15 : whole.length > 12 || decimals.length < 1 || decimals.length > 3) {
      throw new Malformed();
    }
    return { type: decimals === undefined ? "integer" : "decimal", value: Number(number) };
  }

  private skip(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  private expect(pattern: RegExp): string {
    const found = this.skip(pattern);
    if (found === "") throw new Malformed();
    return found;
  }
}

const STRING = /"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/y;
