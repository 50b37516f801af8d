/** The text of a znode. */
export function jsonText(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
