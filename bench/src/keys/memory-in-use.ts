/** Bytes on the heap and in buffers outside it that something still refers to. */
export function memoryInUse(): number {
  if (globalThis.gc === undefined) throw new Error("needs node --expose-gc");
  // What only a finalizer held on to goes with the second.
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
