/** The name of a field in an error, as in `rules[3].limit`; empty for the whole value. */
export function fieldAt(path: readonly PropertyKey[]): string {
  return path.reduce<string>((field, step) => {
    if (typeof step === "number") return `${field}[${step}]`;
    return field === "" ? String(step) : `${field}.${String(step)}`;
  }, "");
}
