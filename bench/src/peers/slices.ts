/** A list in parts of at most `length`. */
export function slices<Element>(all: readonly Element[], length: number): (readonly Element[])[] {
  const parts: (readonly Element[])[] = [];
  for (let from = 0; from < all.length; from += length) parts.push(all.slice(from, from + length));
  return parts;
}
