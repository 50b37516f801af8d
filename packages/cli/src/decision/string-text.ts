const PLAIN = /^[ !#-[\]-~]*$/;
const BEYOND_ASCII = /[\u007f-\uffff]/g;

/** Formats a string like Python's `json`: ASCII only. */
export function stringText(value: string): string {
  return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value).replace(BEYOND_ASCII, escaped);
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
