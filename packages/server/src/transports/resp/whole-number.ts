/** Undefined if the text is not a whole number that can be counted with. */
export function wholeNumber(text: string): number | undefined {
  // By far the most common.
  if (text === "1") return 1;
  if (!/^\d{1,16}$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}
