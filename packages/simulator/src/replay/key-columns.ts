const FEWEST_KEYS = 1_024;

type Numbers =
  | Float64Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>;

/** One number for each key; 0 for keys without one. */
export class KeyColumn<Cells extends Numbers> {
  readonly #make: (length: number) => Cells;
  #cells: Cells;

  constructor(make: (length: number) => Cells) {
    this.#make = make;
    this.#cells = make(FEWEST_KEYS);
  }

  /** The numbers of at least all keys below `size`. */
  upTo(size: number): Cells {
    if (size > this.#cells.length) {
      const longer = this.#make(Math.max(size, 2 * this.#cells.length));
      longer.set(this.#cells);
      this.#cells = longer;
    }
    return this.#cells;
  }
}

export function wideColumn(): KeyColumn<Float64Array<ArrayBuffer>> {
  return new KeyColumn((length) => new Float64Array(length));
}

export function narrowColumn(): KeyColumn<Float32Array<ArrayBuffer>> {
  return new KeyColumn((length) => new Float32Array(length));
}

export function flagColumn(): KeyColumn<Uint8Array<ArrayBuffer>> {
  return new KeyColumn((length) => new Uint8Array(length));
}

export function hashColumn(): KeyColumn<Int32Array<ArrayBuffer>> {
  return new KeyColumn((length) => new Int32Array(length));
}
