import { SplitGroup } from "./split-group.ts";

/** The part of a Redis server that `split` uses: the commands that it sends, with the script's twin. */
export class SplitGroups {
  readonly #groups = new Map<string, SplitGroup>();

  /** Number of replicas in the group of a key. */
  sizeOf(key: string): number {
    return this.#groups.get(key)?.size ?? 0;
  }

  /** The record of a group in the fields of its hash. */
  fieldsOf(key: string): Readonly<Record<string, string>> {
    return this.#groups.get(key)?.fields() ?? {};
  }

  /** `now` in milliseconds; `run` identifies the run of the server. */
  execute(command: readonly unknown[], now: number, run: string): unknown {
    const [name, ...args] = command.map(String);
    if (name === "HDEL") {
      const [key, field] = args;
      return this.#group(key).leave(idOf(field));
    }
    if (name !== "EVAL") throw new Error(`the simulation of split does not know the command ${name}`);
    const [, , key, id, ...numbers] = args;
    const [number, lease, rank, of] = numbers.map(Number);
    return this.#group(key).beat({ id, number, lease, held: { rank, of } }, now, run);
  }

  #group(key: string): SplitGroup {
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group = new SplitGroup();
    this.#groups.set(key, group);
    return group;
  }
}

function idOf(field: string): string {
  return field.slice("replica:".length);
}
