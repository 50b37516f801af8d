/** So much is copied to another thread in well under a millisecond. */
const PART = 256 * 1024;

/** A text for another thread. */
export function* textParts(text: string): Iterable<string> {
  for (let from = 0; from < text.length; from += PART) yield text.slice(from, from + PART);
}

/** The bytes of a text for another thread: copies, because they are moved there. */
export function* byteParts({ buffer, byteOffset, byteLength }: Buffer): Iterable<ArrayBuffer> {
  const end = byteOffset + byteLength;
  for (let from = byteOffset; from < end; from += PART) {
    yield buffer.slice(from, Math.min(from + PART, end)) as ArrayBuffer;
  }
}

/** The text again, on the other side. */
export function textOf(parts: readonly (string | ArrayBuffer)[]): string {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const texts = parts.map((part) => (typeof part === "string" ? part : decoder.decode(part, { stream: true })));
  return texts.join("") + decoder.decode();
}
