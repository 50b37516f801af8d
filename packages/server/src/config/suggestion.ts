/** The known name that was probably meant, as text to append to an error; empty if none is close. */
export function suggestion(name: string, known: Iterable<string>): string {
  let nearest = "";
  // Names that differ in more than a third of their letters are different words.
  let least = Math.max(2, Math.ceil(name.length / 3)) + 1;
  for (const each of known) {
    const steps = editsBetween(name, each);
    if (steps < least) {
      least = steps;
      nearest = each;
    }
  }
  return nearest === "" ? "" : ` (did you mean ${nearest}?)`;
}

/** Number of letters to insert, delete, replace or swap with the next. */
function editsBetween(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + change);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.length];
}
