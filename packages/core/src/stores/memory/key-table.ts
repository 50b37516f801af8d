/**
 * A fixed number of slots for rows of numbers, addressed by a 64-bit hash: open addressing with linear probing. Hash
 * and row are side by side, so a lookup touches one place in memory.
 */
const EMPTY = 0;
/** Marks a slot whose row is gone but at which probing continues. No key's hash has this value. */
const MOVED = 1;

export class KeyTable {
  /** All rows; `find` and `add` return where a row starts. */
  readonly cells: Float64Array;
  readonly slots: number;
  /** Number of occupied slots. */
  size = 0;

  private readonly hashes: Int32Array;
  private readonly mask: number;
  private readonly stride: number;

  /** `slots` is a power of two. */
  constructor(slots: number, rowLength: number) {
    this.slots = slots;
    this.mask = slots - 1;
    this.stride = rowLength + 1;
    this.cells = new Float64Array(slots * this.stride);
    this.hashes = new Int32Array(this.cells.buffer);
  }

  /** Start of the row of a hash, or −1. */
  find(high: number, low: number): number {
    const hashes = this.hashes;
    const mask = this.mask;
    const stride = this.stride;
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const at = slot * stride;
      const found = hashes[2 * at];
      if (found === high && hashes[2 * at + 1] === low) return at + 1;
      if (found === EMPTY) return -1;
    }
  }

  /** Occupies a slot for a hash that is not in the table, which must not be full. The row is all zeros. */
  add(high: number, low: number): number {
    let slot = low & this.mask;
    while (this.hashes[2 * slot * this.stride] !== EMPTY) slot = (slot + 1) & this.mask;
    const at = slot * this.stride;
    this.hashes[2 * at] = high;
    this.hashes[2 * at + 1] = low;
    this.size += 1;
    return at + 1;
  }

  /** The row in a slot, or −1 if there is none. */
  rowIn(slot: number): number {
    const at = slot * this.stride;
    const high = this.hashes[2 * at];
    return high === EMPTY || high === MOVED ? -1 : at + 1;
  }

  slotOf(row: number): number {
    return (row - 1) / this.stride;
  }

  /** Frees a slot and closes the gap, so that every other row is still found. */
  remove(row: number): void {
    const hashes = this.hashes;
    const mask = this.mask;
    const stride = this.stride;
    let gap = this.slotOf(row);
    for (let slot = (gap + 1) & mask; hashes[2 * slot * stride] !== EMPTY; slot = (slot + 1) & mask) {
      const home = hashes[2 * slot * stride + 1] & mask;
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
      this.cells.copyWithin(gap * stride, slot * stride, (slot + 1) * stride);
      gap = slot;
    }
    this.cells.fill(0, gap * stride, (gap + 1) * stride);
    this.size -= 1;
  }

  /** Copies a row from another table, and marks it as moved there: probing continues past it. */
  take(from: KeyTable, row: number): number {
    const source = row - 1;
    const target = this.add(from.hashes[2 * source], from.hashes[2 * source + 1]);
    for (let i = 0; i < this.stride - 1; i += 1) this.cells[target + i] = from.cells[row + i];
    from.forget(row);
    return target;
  }

  /** Marks a row as gone without closing the gap, in a table that is being emptied. */
  forget(row: number): void {
    this.hashes[2 * (row - 1)] = MOVED;
    this.size -= 1;
  }
}
