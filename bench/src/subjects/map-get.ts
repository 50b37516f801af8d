import type { MakeChecker } from "./subject.ts";

/** No decision: only finding a key in a `Map` and keeping it there. */
export async function load(): Promise<MakeChecker> {
  return () => {
    const rows = new Map<string, number>();
    return {
      kind: "sync",
      check(key) {
        if (rows.get(key) === undefined) rows.set(key, rows.size);
        return true;
      },
    };
  };
}
