/** Numbers per page, unless a single row is longer. */
const PAGE = 8192;

interface Page {
  readonly cells: Float64Array;
  readonly rowLength: number;
  /** The first free row; a free row's first cell holds the next one; −1 ends the list. */
  free: number;
  taken: number;
}

/**
 * Rows of any length, in pages of rows of the same length. A row is identified by a number that fits into a key table.
 * Unused pages are released.
 */
export class RowPool {
  private readonly pages: (Page | undefined)[] = [];
  private readonly unused: number[] = [];
  /** Pages with room, by row length. */
  private readonly open = new Map<number, number[]>();

  take(rowLength: number): number {
    const open = this.openFor(rowLength);
    const number = open.at(-1) ?? this.addPage(rowLength, open);
    const page = this.page(number);
    const at = page.free;
    page.free = page.cells[at];
    page.taken += 1;
    if (page.free < 0) open.pop();
    return number * PAGE + at;
  }

  cells(row: number): Float64Array {
    return this.page(Math.floor(row / PAGE)).cells;
  }

  at(row: number): number {
    return row % PAGE;
  }

  give(row: number): void {
    const number = Math.floor(row / PAGE);
    const page = this.page(number);
    const open = this.openFor(page.rowLength);
    if (page.free < 0) open.push(number);
    page.cells[row % PAGE] = page.free;
    page.free = row % PAGE;
    page.taken -= 1;
    // One page stays open, so that repeatedly taking and freeing a row does not create a page each time.
    if (page.taken === 0 && open.length > 1) {
      open.splice(open.indexOf(number), 1);
      this.pages[number] = undefined;
      this.unused.push(number);
    }
  }

  private openFor(rowLength: number): number[] {
    const known = this.open.get(rowLength);
    if (known !== undefined) return known;
    const open: number[] = [];
    this.open.set(rowLength, open);
    return open;
  }

  private addPage(rowLength: number, open: number[]): number {
    const rows = Math.max(1, Math.floor(PAGE / rowLength));
    const cells = new Float64Array(rows * rowLength);
    for (let i = 0; i < rows; i += 1) cells[i * rowLength] = i + 1 < rows ? (i + 1) * rowLength : -1;
    const number = this.unused.pop() ?? this.pages.length;
    this.pages[number] = { cells, rowLength, free: 0, taken: 0 };
    open.push(number);
    return number;
  }

  private page(number: number): Page {
    const page = this.pages[number];
    if (page === undefined) throw new Error(`row pool: page ${number} was given back`);
    return page;
  }
}
