/** Numbers keys from 0 on, in the order of their first requests. */
export class KeyIndex {
  readonly #numbers = new Map<string, number>();
  readonly #names: string[] = [];

  get size(): number {
    return this.#names.length;
  }

  /** The number of a key. A key without one gets the next. */
  numberOf(key: string): number {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#names.length;
    const name = detached(key);
    this.#names.push(name);
    this.#numbers.set(name, number);
    return number;
  }

  nameOf(number: number): string {
    return this.#names[number];
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A copy of a string. Engines keep the whole text that a substring was cut from in memory. */
function detached(text: string): string {
  const copy = decoder.decode(encoder.encode(text));
  // A text that is not valid Unicode would change.
  return copy === text ? copy : text;
}
