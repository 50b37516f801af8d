const PLAIN = /^[ !#-[\]-~]*$/;
const BEYOND_ASCII = /[\u007f-\uffff]/g;

/** A string as Python's `json` prints it: ASCII only. */
export function stringText(value: string): string {
  return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value).replace(BEYOND_ASCII, escaped);
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
