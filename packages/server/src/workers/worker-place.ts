/** Which of the worker processes of a node this one is. */
export interface WorkerPlace {
  /** From 0 to `count` - 1. A worker that is restarted keeps its number. */
  readonly index: number;
  readonly count: number;
  /** Private folder of the sockets over which the workers reach each other. */
  readonly folder: string;
}

/** The worker that counts a key: an FNV-1a hash of the key, so that all workers agree. */
export function ownerOf(key: string, count: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  // The low bits of the hash of similar keys are similar.
  return ((hash ^ (hash >>> 15)) >>> 0) % count;
}
