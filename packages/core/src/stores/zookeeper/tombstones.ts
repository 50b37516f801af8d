import { parsed } from "./znode-contents.ts";
import { ANY_VERSION, type Connection } from "./zookeeper-connection.ts";

/**
 * A znode is deleted in two steps. First it is overwritten with the path of a tombstone, a znode with a unique name, so
 * that writes based on an earlier version fail. Much later, both are deleted together. A process that uses the znode in
 * between removes the tombstone in the same write. A version remembered by a slow process is thus never mistaken for
 * the same version of a recreated znode.
 */
export interface Tombstone {
  readonly path: string;
  /** Version of the znode since it names the tombstone. */
  readonly version: number;
  /** By the store's clock, in microseconds. */
  readonly since: number;
}

export function tombstoneData(path: string, version: number, since: number): Buffer {
  return Buffer.from(JSON.stringify({ path, version, since_us: since }));
}

export function tombstoneIn(data: Buffer): Tombstone | undefined {
  const { path, version, since_us: since } = parsed(data) ?? {};
  const isTombstone = typeof path === "string" && typeof version === "number" && typeof since === "number";
  return isTombstone ? { path, version, since } : undefined;
}

/** Recreates a tombstone that was deleted manually. */
export async function restoreTombstone(
  connection: Connection,
  tombstone: string,
  path: string,
  version: number,
  now: number,
): Promise<void> {
  await connection.makeParents(tombstone);
  await connection.make(tombstone, tombstoneData(path, version, now));
}

/** Deletes a tombstone and its znode; only the tombstone if the znode is in use again. */
export async function clear(connection: Connection, tombstone: string, { path, version }: Tombstone): Promise<void> {
  const done = await connection.commitOrConflict([
    { do: "remove", path: tombstone, version: ANY_VERSION },
    { do: "remove", path, version },
  ]);
  if (!done) await connection.remove(tombstone, ANY_VERSION);
}
