import type { Dimension } from "../rule.ts";

const NAMES: readonly (readonly [RegExp, Dimension])[] = [
  [
    /^(\$?(binary_)?remote_addr(ess)?|masked_remote_address|client_?ip|ip(_?address)?|source_?(ip|address)|x[-_]forwarded[-_]for)$/i,
    "ip",
  ],
  [/api[-_]?key/i, "apikey"],
  [
    /(^|[^a-z])(user|account|customer|client|tenant|org)([-_]?(id|name))?$|remote_user|auth\.identity|subject|^sub$/i,
    "user",
  ],
];

/** The dimension that the name of a key, variable or header suggests. */
export function dimensionFor(name: string): Dimension | undefined {
  return NAMES.find(([pattern]) => pattern.test(name))?.[1];
}

/** A wildcard path of another limiter as a pattern: `/api*` and `/api/*` are `/api/**`. */
export function patternFor(path: string): string {
  if (!path.includes("*")) return path;
  const fixed = path
    .slice(0, path.indexOf("*"))
    .replace(/\/[^/]*$/, (last) => (path.includes("/*") || last === "/" ? "" : last));
  return `${fixed === "/" ? "" : fixed}/**`;
}
