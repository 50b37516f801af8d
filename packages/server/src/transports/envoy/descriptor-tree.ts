import type { Entry } from "./descriptor.ts";
import type { ConfiguredLimit } from "./envoy-limit.ts";

/** One level of the descriptors of a domain. */
export class DescriptorNode {
  readonly limit: ConfiguredLimit | undefined;
  /** The pattern that requests are counted under, instead of their own value. */
  readonly sharedValue: string | undefined;
  private readonly byValue = new Map<string, Map<string, DescriptorNode>>();
  private readonly byKey = new Map<string, DescriptorNode>();
  private readonly wildcards = new Map<string, Wildcard[]>();

  constructor(limit?: ConfiguredLimit, sharedValue?: string) {
    this.limit = limit;
    this.sharedValue = sharedValue;
  }

  /** Returns whether there was no such child yet. */
  add(key: string, value: string, child: DescriptorNode): boolean {
    if (value === "") {
      if (this.byKey.has(key)) return false;
      this.byKey.set(key, child);
      return true;
    }
    const values = this.byValue.get(key) ?? new Map<string, DescriptorNode>();
    if (values.has(value)) return false;
    this.byValue.set(key, values.set(value, child));
    if (value.includes("*")) {
      const known = this.wildcards.get(key) ?? [];
      this.wildcards.set(key, [...known, { parts: value.split("*"), child }]);
    }
    return true;
  }

  /** The child for an entry: the exact value, else the first wildcard that matches, else the key alone. */
  find({ key, value }: Entry): DescriptorNode | undefined {
    const exact = this.byValue.get(key)?.get(value);
    if (exact !== undefined) return exact;
    const wildcard = this.wildcards.get(key)?.find(({ parts }) => matches(parts, value));
    return wildcard?.child ?? this.byKey.get(key);
  }

  /** All limits below this node. */
  *limits(): Iterable<ConfiguredLimit> {
    if (this.limit !== undefined) yield this.limit;
    for (const values of this.byValue.values()) for (const child of values.values()) yield* child.limits();
    for (const child of this.byKey.values()) yield* child.limits();
  }
}

interface Wildcard {
  /** What is between the asterisks. */
  readonly parts: readonly string[];
  readonly child: DescriptorNode;
}

/** What a descriptor matches. */
export interface Match {
  readonly limit: ConfiguredLimit;
  /** The entries to count under. */
  readonly entries: readonly Entry[];
}

/** The limit of a descriptor. Only a rule of the same depth matches. */
export function matchOf(root: DescriptorNode, entries: readonly Entry[]): Match | undefined {
  let node = root;
  let counted: Entry[] | undefined;
  for (const [i, entry] of entries.entries()) {
    const next = node.find(entry);
    if (next === undefined) return undefined;
    if (next.sharedValue !== undefined) {
      counted ??= [...entries];
      counted[i] = { key: entry.key, value: next.sharedValue };
    }
    node = next;
  }
  return node.limit === undefined ? undefined : { limit: node.limit, entries: counted ?? entries };
}

/** Whether a value consists of the parts in this order, with anything between them. Takes linear time. */
function matches(parts: readonly string[], value: string): boolean {
  const [first] = parts;
  const last = parts[parts.length - 1];
  if (!value.startsWith(first) || !value.endsWith(last)) return false;
  let at = first.length;
  const end = value.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = value.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= end;
}
