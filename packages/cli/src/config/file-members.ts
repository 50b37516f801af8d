import { InvalidInput } from "../failure.ts";

/** Collects the top-level members of a file and rejects unknown or duplicate ones. */
export class FileMembers {
  private readonly found = new Set<string>();
  private readonly kind: string;
  private readonly known: readonly string[];

  constructor(kind: string, known: readonly string[]) {
    this.kind = kind;
    this.known = known;
  }

  add(name: string): string {
    if (!this.known.includes(name)) {
      throw new InvalidInput(`${name}: is not a field of ${this.kind} (known: ${this.known.join(", ")})`);
    }
    // JSON.parse would silently keep only the last one.
    if (this.found.has(name)) throw new InvalidInput(`${name}: appears twice`);
    this.found.add(name);
    return name;
  }

  has(name: string): boolean {
    return this.found.has(name);
  }
}
