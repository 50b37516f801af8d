import type { Pattern } from "./pattern.ts";

// Most nodes have little: what they do not have costs them nothing.
export class TrieNode<Value> {
  /** Undefined at the root. */
  readonly parent: TrieNode<Value> | undefined;
  exact: Map<string, TrieNode<Value>> | undefined;
  any: TrieNode<Value> | undefined;
  /** Of the patterns that end here. */
  ends: Value[] | undefined;
  /** Of those that end here in `**`. */
  open: Value[] | undefined;

  constructor(parent: TrieNode<Value> | undefined) {
    this.parent = parent;
  }

  /** The node of the next part, made if it is not there. */
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
 * Finds all patterns that match, part by part. A walk meets at most one node for each shape (the places of the
 * wildcards) that the patterns have: ten patterns cost the same as a hundred thousand of the same shapes.
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
   * The values of the patterns that match these parts, those that say least first. With a part null (any), or
   * `open`: of the patterns that match whatever such a pattern matches.
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
