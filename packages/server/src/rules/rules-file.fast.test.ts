import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { partsOfList } from "./rules-file.fast.ts";
import { parseRules } from "./rules-file.ts";
import { RulesFileError } from "./rules-file-error.ts";

function item(i: number, blanks = "  "): string[] {
  const fields = ["dimension: user", `endpoint_pattern: /a${i}`, "limit: 5", "window_seconds: 60"];
  return [`${blanks}- name: R${i}`, ...fields.map((field) => `${blanks}  ${field}`)];
}

function items(count: number, blanks?: string): string[] {
  return Array.from({ length: count }, (_, i) => item(i, blanks)).flat();
}

function text(lines: readonly string[]): string {
  return `rules:\n${lines.join("\n")}\n`;
}

/** The rules of a file; undefined if it is refused. */
function found(file: string): unknown {
  try {
    return parseRules(file, "");
  } catch (error) {
    if (error instanceof RulesFileError) return undefined;
    throw error;
  }
}

/** Lines that mean something else than they seem to, somewhere. */
const ODD = [
  "",
  "#",
  "# - name: no rule",
  "  # - name: no rule",
  "- name: at the left",
  "  - name: in the list",
  "    - name: in an item",
  "  -",
  "  -name: no dash",
  "---",
  "...",
  "%YAML 1.2",
  "rules: []",
  "  rules: []",
  "    burst: |",
  "    tier: >-",
  "      - text",
  "    tier: 'a",
  "  b'",
  "    tier: [",
  "  ]",
  "    tier: &tier free",
  "    tier: *tier",
  "    burst: &n 5",
  "    burst: *n",
  "\ttier: free",
  "    ? tier",
  "    : free",
  "    mode: shadow # really",
  "    !!str mode: shadow",
  "    limit: 6",
  "\r",
  "\u2028",
  "}",
];

describe("a list that is read in parts", () => {
  it("is what it is as a whole, whatever lines are put into it", () => {
    const odd = fc.tuple(fc.nat(), fc.constantFrom(...ODD));
    fc.assert(
      fc.property(fc.constantFrom("", "  "), fc.array(odd, { maxLength: 3 }), (blanks, inserted) => {
        const lines = items(260, blanks);
        for (const [at, line] of inserted) lines.splice(at % (lines.length + 1), 0, line);
        // With a byte order mark at its beginning it is not a plain list.
        expect(found(text(lines))).toEqual(found(`---\n${text(lines)}`));
      }),
      { numRuns: 40 },
    );
  });

  it("is cut where items begin, and nothing is lost", () => {
    const lines = [...items(600), "  # the end"];
    const parts = partsOfList(text(lines)) ?? [];
    expect(parts).toHaveLength(3);
    expect(parts.join("")).toBe(`${lines.join("\n")}\n`);
    for (const part of parts) expect(part).toMatch(/^ {2}- name/);
  });

  it("may have comments before it, lines that end as on Windows, and no blanks before its dashes", () => {
    const plain = `# Rules\n\n  # of all\nrules: # these\n${items(3, "").join("\n")}`;
    expect(partsOfList(plain)).toHaveLength(1);
    expect(found(plain)).toEqual(found(text(items(3))));
    expect(found(plain.replaceAll("\n", "\r\n"))).toEqual(found(plain));
  });

  it("is nothing else", () => {
    const others = ["rules: []", "{}", "---\nrules:\n  - a\n", "a: 1\nrules:\n  - a\n", "rules:\n  - a\nb: 1\n"];
    for (const other of [...others, "rules:\n  a: 1\n", "rules:\n- a\n---\n", "rules: &all\n  - a\n"]) {
      expect(partsOfList(other), other).toBe(undefined);
    }
  });
});
