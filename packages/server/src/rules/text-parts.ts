/** Size that can be copied to another thread in well under a millisecond. */
const PART = 256 * 1024;

/** Splits a text for another thread. */
export function* textParts(text: string): Iterable<string> {
  for (let from = 0; from < text.length; from += PART) yield text.slice(from, from + PART);
}

/** Splits bytes for another thread: copies, because they are transferred. */
export function* byteParts({ buffer, byteOffset, byteLength }: Buffer): Iterable<ArrayBuffer> {
  const end = byteOffset + byteLength;
  for (let from = byteOffset; from < end; from += PART) {
    yield buffer.slice(from, Math.min(from + PART, end)) as ArrayBuffer;
  }
}

/** Joins the text on the other side. */
export function textOf(parts: readonly (string | ArrayBuffer)[]): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const texts = parts.map((part) => (typeof part === "string" ? part : decoder.decode(part, { stream: true })));
  return texts.join("") + decoder.decode();
}
