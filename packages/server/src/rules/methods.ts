/** The methods of a rule in upper case and in order; null: all methods. */
export type Methods = readonly string[] | null;

/** A token of HTTP (RFC 9110), so that neither a comma nor a colon can be part of it. */
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/;
export const METHOD_FORM = "an HTTP method such as POST, at most 32 characters";

export function isMethod(text: string): boolean {
  return METHOD.test(text);
}

/** Normalizes a list of methods: upper case, each once, in alphabetical order. */
export function methodsOf(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const methods = value.map((method: unknown) => (typeof method === "string" ? method.toUpperCase() : method));
  return [...new Set(methods)].sort();
}

/** Whether a rule applies to requests with a method in upper case. Without a method, only rules for all methods do. */
export function appliesTo(methods: Methods, method: string | undefined): boolean {
  return methods === null || (method !== undefined && methods.includes(method));
}

/** Whether one rule applies to every request that another applies to, as far as methods are concerned. */
export function coverMethods(methods: Methods, others: Methods): boolean {
  return methods === null || (others?.every((method) => methods.includes(method)) ?? false);
}
