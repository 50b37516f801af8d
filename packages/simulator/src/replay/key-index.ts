import { hashColumn, wideColumn } from "./key-columns.ts";
import { KeyNames } from "./key-names.ts";

const FEWEST_PLACES = 1 << 11;

/**
 * Numbers keys from 0 on, in the order of their first requests. An open-addressing table over the bytes of the keys takes
 * a fraction of the memory of a `Map` of strings, and gives the garbage collector nothing to do.
 */
export class KeyIndex {
  readonly #names = new KeyNames();
  /** Where the name of each key begins. */
  readonly #positions = wideColumn();
  readonly #hashes = hashColumn();
  /** Numbers of keys, increased by one; 0 if a place is free. At most half of the places are taken. */
  #places = new Uint32Array(FEWEST_PLACES);
  #size = 0;
  /** Secret, so that the clients in a log cannot choose keys with equal hashes. */
  readonly #seed = Math.floor(Math.random() * 0x1_0000_0000);

  get size(): number {
    return this.#size;
  }

  /** The number of a key. A key without one gets the next. */
  numberOf(key: string): number {
    const hash = this.#names.read(key, this.#seed);
    const hashes = this.#hashes.upTo(this.#size + 1);
    const positions = this.#positions.upTo(this.#size + 1);
    const places = this.#places;
    const mask = places.length - 1;
    let place = hash & mask;
    for (; places[place] !== 0; place = (place + 1) & mask) {
      const number = places[place] - 1;
      if (hashes[number] === hash && this.#names.isRead(positions[number])) return number;
    }
    const number = this.#size;
    hashes[number] = hash;
    positions[number] = this.#names.keep();
    places[place] = number + 1;
    this.#size += 1;
    if (2 * this.#size > places.length) this.#grow();
    return number;
  }

  nameOf(number: number): string {
    return this.#names.textAt(this.#positions.upTo(this.#size)[number]);
  }

  #grow(): void {
    const places = new Uint32Array(2 * this.#places.length);
    const mask = places.length - 1;
    const hashes = this.#hashes.upTo(this.#size);
    for (let number = 0; number < this.#size; number += 1) {
      let place = hashes[number] & mask;
      while (places[place] !== 0) place = (place + 1) & mask;
      places[place] = number + 1;
    }
    this.#places = places;
  }
}
