import { rateAlgorithms, rowsNameOf } from "../../../src/algorithms/lookup.ts";
import type { Clock } from "../../../src/clock/clock.ts";
import {
  type Action,
  type AlgorithmName,
  type Answer,
  MemoryStore,
  type Operation,
  type Rule,
} from "../../../src/index.ts";
import { Row } from "../../algorithms/row.ts";

/** What Redis should answer and keep: the store in memory, and beside it the row of each key. */
export class Mirror {
  /** By the names that Redis knows them by, without the prefix. */
  readonly rows = new Map<string, Row>();
  private readonly memory: MemoryStore;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
    this.memory = new MemoryStore({ clock, sweep: false });
  }

  nameOf(rule: Rule, key: string): string {
    return `{${key}}:${rule.name}:${rowsNameOf(rule.limit)}`;
  }

  apply(action: Action, operations: readonly Operation[]): readonly Answer[] {
    const answers = this.memory.apply(action, operations);
    const isTaken = action === "charge" || (action === "take" && answers.every(({ allowed }) => allowed));
    const first = action === "takeFirst" ? answers.findIndex(({ allowed }) => allowed) : -1;
    for (const [i, operation] of operations.entries()) {
      this.change(isTaken || i === first ? "penalize" : action, operation);
    }
    return answers;
  }

  private change(action: Action, { rule, key, cost }: Operation): void {
    const name = this.nameOf(rule, key);
    if (action === "reset") this.rows.delete(name);
    // A key has no row before it is charged.
    if (action === "penalize" && cost > 0 && !this.rows.has(name)) this.rows.set(name, new Row(rule.limit));
    const row = this.rows.get(name);
    if (row === undefined) return;
    row.limit = rule.limit;
    if (action === "penalize" || action === "refund") row[action](this.clock.now(), cost);
  }
}

/** The cells of a row as Redis keeps it; rows.lua says how. */
export function cellsIn(value: Buffer): number[] {
  const bytes = new DataView(value.buffer, value.byteOffset, value.byteLength);
  return Array.from({ length: value.byteLength / 8 - 1 }, (_, i) => bytes.getFloat64(8 * i + 8, true));
}

/** What counts of a row. Of a ring, that is not what lies beyond its end; queue.ts says where that is. */
export function live(algorithm: AlgorithmName, cells: readonly number[]): readonly number[] {
  if (rateAlgorithms.find(({ name }) => name === algorithm)?.resize === undefined) return cells;
  const [capacity, , , head, length] = cells;
  const ring = cells.slice(5);
  const pairs = Array.from({ length }, (_, i) => {
    const at = 2 * ((head + i) % capacity);
    return ring.slice(at, at + 2);
  });
  return [...cells.slice(0, 5), ring.length, ...pairs.flat()];
}
