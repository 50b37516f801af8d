/** The name of a file of a recording: the process, and the number of the segment, from 0. */
const NAME = /^([\w-]+)(?:\.(\d+))?\.jsonl$/;
const DIGITS = 6;
const LOCK = ".lock";

/** A recording consists of segments, of which the oldest are deleted. Each can be read alone. */
export interface Segment {
  readonly name: string;
  readonly number: number;
}

export function segmentName(node: string, number: number): string {
  return `${node}.${String(number).padStart(DIGITS, "0")}.jsonl`;
}

/** The lock of a process that records. */
export function lockName(node: string): string {
  return `${node}${LOCK}`;
}

/** The processes whose locks are in a folder. Some of them may have been killed. */
export function lockedNodes(names: readonly string[]): readonly string[] {
  return names.filter((name) => name.endsWith(LOCK)).map((name) => name.slice(0, -LOCK.length));
}

/** The process that wrote a segment; undefined if the file is none. */
export function nodeOf(name: string): string | undefined {
  return NAME.exec(name)?.[1];
}

/** The segments in a folder by process, oldest first. Processes are in the order in which they started. */
export function segmentsByNode(names: readonly string[]): ReadonlyMap<string, readonly Segment[]> {
  const found = new Map<string, Segment[]>();
  for (const name of [...names].sort()) {
    const [, node, number = "0"] = NAME.exec(name) ?? [];
    if (node === undefined) continue;
    const others = found.get(node) ?? [];
    others.push({ name, number: Number(number) });
    found.set(node, others);
  }
  for (const segments of found.values()) segments.sort((a, b) => a.number - b.number);
  return found;
}
