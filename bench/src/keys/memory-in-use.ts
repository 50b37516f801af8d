/** Reachable bytes on the heap and in buffers outside it. */
export function memoryInUse(): number {
  if (globalThis.gc === undefined) throw new Error("needs node --expose-gc");
  // The second collection frees what only a finalizer kept alive.
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
