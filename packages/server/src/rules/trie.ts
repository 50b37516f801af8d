import type { Pattern } from "./pattern.ts";

// Most nodes have few of these fields, and unused ones cost nothing.
export class TrieNode<Value> {
  /** Undefined at the root. */
  readonly parent: TrieNode<Value> | undefined;
  exact: Map<string, TrieNode<Value>> | undefined;
  any: TrieNode<Value> | undefined;
  /** Values of the patterns that end here. */
  ends: Value[] | undefined;
  /** Values of those that end here in `**`. */
  open: Value[] | undefined;

  constructor(parent: TrieNode<Value> | undefined) {
    this.parent = parent;
  }

  /** The node of the next part, created if missing. */
  towards(part: string | null): TrieNode<Value> {
    if (part === null) {
      this.any ??= new TrieNode(this);
      return this.any;
    }
    this.exact ??= new Map();
    let node = this.exact.get(part);
    if (node === undefined) {
      node = new TrieNode(this);
      this.exact.set(part, node);
    }
    return node;
  }
}

/**
 * Finds all matching patterns, part by part. A walk visits at most one node per shape of the patterns (the positions of
 * their wildcards): ten patterns cost the same as a hundred thousand of the same shapes.
 */
export class PatternTrie<Value> {
  readonly root = new TrieNode<Value>(undefined);

  add({ parts, open }: Pattern, value: Value): void {
    let node = this.root;
    for (const part of parts) node = node.towards(part);
    if (open) node.open = [...(node.open ?? []), value];
    else node.ends = [...(node.ends ?? []), value];
  }

  /**
   * The values of the patterns that match these parts, the most general first. If a part is null (any), or with `open`:
   * of the patterns that match everything that such a pattern matches.
   */
  match(parts: readonly (string | null)[], open = false): Value[] {
    const found: Value[] = [];
    let live = [this.root];
    for (const part of parts) {
      const next: TrieNode<Value>[] = [];
      for (const node of live) {
        if (node.open !== undefined) found.push(...node.open);
        if (node.any !== undefined) next.push(node.any);
        const exact = part === null ? undefined : node.exact?.get(part);
        if (exact !== undefined) next.push(exact);
      }
      if (next.length === 0) return found;
      live = next;
    }
    for (const node of live) {
      if (node.open !== undefined) found.push(...node.open);
      if (node.ends !== undefined && !open) found.push(...node.ends);
    }
    return found;
  }
}
