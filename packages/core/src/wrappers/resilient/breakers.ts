import type { Operation, StoreNodes } from "../../stores/store.ts";
import type { Breaker } from "./breaker.ts";

/** Name for a store that does not distinguish its servers. */
const WHOLE = "";

/** One breaker per server of a store, so that the failure of one does not affect keys of the others. */
export class Breakers {
  private readonly nodes: StoreNodes | undefined;
  private readonly make: (node: string | undefined) => Breaker;
  private readonly known = new Map<string, Breaker>();

  constructor(nodes: StoreNodes | undefined, make: (node: string | undefined) => Breaker) {
    this.nodes = nodes;
    this.make = make;
    this.known.set(WHOLE, make(undefined));
  }

  /** The breaker of the server that a request goes to. */
  of([first]: readonly Operation[]): Breaker {
    const node = this.nodes === undefined || first === undefined ? WHOLE : this.nodes.of(first.key);
    return this.known.get(node) ?? this.add(node);
  }

  /** The positions of operations that go to the same server. */
  groups(operations: readonly Operation[]): readonly (readonly number[])[] {
    const { nodes } = this;
    if (nodes === undefined || operations.length < 2) return [[...operations.keys()]];
    const byNode = new Map<string, number[]>();
    for (const [i, { key }] of operations.entries()) {
      const node = nodes.of(key);
      const others = byNode.get(node);
      if (others === undefined) byNode.set(node, [i]);
      else others.push(i);
    }
    return [...byNode.values()];
  }

  /** Servers that are considered down. */
  get openNodes(): readonly string[] {
    return this.open().map(([node]) => node);
  }

  get state(): "closed" | "open" {
    return this.open().length > 0 ? "open" : "closed";
  }

  /** Since when, in microseconds: the first to open of those that are open, otherwise the last to close. */
  get since(): number {
    const open = this.open().map(([, { since }]) => since);
    if (open.length > 0) return Math.min(...open);
    return Math.max(...[...this.known.values()].map(({ since }) => since));
  }

  private open(): [string, Breaker][] {
    this.forget();
    return [...this.known].filter(([, { state }]) => state === "open");
  }

  private add(node: string): Breaker {
    this.forget();
    const breaker = this.make(node);
    this.known.set(node, breaker);
    return breaker;
  }

  /** Removes breakers of servers that have left the cluster: no call would ever close them. */
  private forget(): void {
    const nodes = this.nodes?.all() ?? [];
    if (nodes.length === 0) return;
    for (const [node, breaker] of this.known) {
      if (nodes.includes(node)) continue;
      if (node !== WHOLE) this.known.delete(node);
      breaker.close();
    }
  }
}
