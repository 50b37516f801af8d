import { type RuleInput, rulesOfService } from "headgate-server";

const least = { name: "Rule", dimension: "user", endpoint_pattern: "/**", limit: 100, window_seconds: 60 };
const [template] = await rulesOfService([least]);

/** A third each of exact paths, paths with a parameter, and prefixes; the first rule matches all paths. */
export function makeRules(count: number, more = 0): RuleInput[] {
  const patterns = ["/**"];
  for (let service = 0; patterns.length < count; service += 1) {
    patterns.push(`/service${service}/orders`, `/service${service}/orders/:id`, `/service${service}/**`);
  }
  return patterns.slice(0, count).map((endpoint_pattern, i) => ({
    ...template,
    rule_id: `r${i}`,
    name: `Rule ${i}`,
    endpoint_pattern,
    limit: 100 + more + (i % 50),
  }));
}

/** The same as a file. Built manually, because the YAML library leaves much garbage behind. */
export function rulesYaml(rules: readonly RuleInput[]): string {
  const items = rules.map((rule) => {
    const fields = Object.entries(rule).filter(([, value]) => value !== null);
    return `  - ${fields.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join("\n    ")}\n`;
  });
  return `rules:\n${items.join("")}`;
}
