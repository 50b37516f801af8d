import type { Action, Answer, ApplyOptions, Operation, Rule, Store } from "headgate";

/** A store that is told rules by the names that it needs. */
export class Renamed implements Store {
  readonly clock?: NonNullable<Store["clock"]>;
  readonly bulletin?: NonNullable<Store["bulletin"]>;
  readonly holds?: NonNullable<Store["holds"]>;
  readonly nodes?: NonNullable<Store["nodes"]>;
  private readonly store: Store;
  private readonly pick: (rule: Rule) => Rule;

  /** `pick`: the same each time for the same rule, since stores tell a changed one by its identity. */
  constructor(store: Store, pick: (rule: Rule) => Rule) {
    this.store = store;
    this.pick = pick;
    if (store.clock !== undefined) this.clock = store.clock;
    if (store.bulletin !== undefined) this.bulletin = store.bulletin;
    if (store.holds !== undefined) this.holds = store.holds;
    if (store.nodes !== undefined) this.nodes = store.nodes;
  }

  apply(
    action: Action,
    operations: readonly Operation[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]> {
    return this.store.apply(action, operations.map(this.renamed), options);
  }

  private readonly renamed = ({ rule, key, cost }: Operation): Operation => {
    return { rule: this.pick(rule), key, cost };
  };
}
