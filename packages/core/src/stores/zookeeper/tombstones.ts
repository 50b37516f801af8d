import { parsed } from "./znode-contents.ts";
import { ANY_VERSION, type Connection } from "./zookeeper-connection.ts";

/**
 * Two steps lead to the end of a znode. First it is overwritten with the name of a grave, a znode of a name that
 * never comes again: from then on no write counts that was made for an earlier version. Much later both are deleted
 * together. Whoever uses the znode in between takes the grave away with the same write. So a version that a slow
 * process remembers is never taken for the same number of a znode that was made anew.
 */
export interface Grave {
  readonly path: string;
  /** Of the znode, since it names the grave. */
  readonly version: number;
  /** By the store's clock, in microseconds. */
  readonly since: number;
}

export function graveData(path: string, version: number, since: number): Buffer {
  return Buffer.from(JSON.stringify({ path, version, since_us: since }));
}

export function graveIn(data: Buffer): Grave | undefined {
  const { path, version, since_us: since } = parsed(data) ?? {};
  const isGrave = typeof path === "string" && typeof version === "number" && typeof since === "number";
  return isGrave ? { path, version, since } : undefined;
}

/** Makes a grave again that somebody has deleted by hand. */
export async function dig(
  connection: Connection,
  grave: string,
  path: string,
  version: number,
  now: number,
): Promise<void> {
  await connection.makeParents(grave);
  await connection.make(grave, graveData(path, version, now));
}

/** Deletes a grave and its znode; if that is in use again, only the grave. */
export async function clear(connection: Connection, grave: string, { path, version }: Grave): Promise<void> {
  const done = await connection.commitOrConflict([
    { do: "remove", path: grave, version: ANY_VERSION },
    { do: "remove", path, version },
  ]);
  if (!done) await connection.remove(grave, ANY_VERSION);
}
