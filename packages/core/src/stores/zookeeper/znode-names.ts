import { digest } from "../redis/key-names.ts";

/** Longer names are hashed: a key of a megabyte would be sent with each call. */
const LONGEST = 128;

/**
 * Characters that ZooKeeper does not allow in names, the path separator, and the escape character. Includes surrogates,
 * alone or in pairs.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: ZooKeeper forbids them.
const SPECIAL = /[%/\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/g;

/** Any text as the name of a znode. Different texts have different names, because `%` is always escaped. */
export function nameOf(text: string): string {
  if (text.length > LONGEST) return `%#${digest(text)}`;
  // An empty name is not allowed, and "." and ".." are special.
  if (text === "") return "%";
  if (text === "." || text === "..") return text.replaceAll(".", "%2E");
  return text.replace(SPECIAL, (unit) => {
    const code = unit.charCodeAt(0).toString(16).toUpperCase();
    return code.length > 2 ? `%u${code.padStart(4, "0")}` : `%${code.padStart(2, "0")}`;
  });
}

/** The paths of a store. */
export class Places {
  readonly root: string;
  /** `limits/<rule>/<algorithm>/<key>`. */
  readonly limits: string;
  /** Answered requests, by idempotency key. */
  readonly requests: string;
  /** What is to be deleted, and since when. */
  readonly tombstones: string;
  readonly notifications: string;
  /** Written only to learn the time. */
  readonly clock: string;
  /** Time of the last sweep. */
  readonly sweep: string;

  constructor(root: string) {
    this.root = root;
    this.limits = `${root}/limits`;
    this.requests = `${root}/requests`;
    this.tombstones = `${root}/tombstones`;
    this.notifications = `${root}/notifications`;
    this.clock = `${root}/clock`;
    this.sweep = `${root}/sweep`;
  }

  /** The path for a key under a rule; `rows` is the algorithm, with its calendar if it has one. */
  row(rule: string, rows: string, key: string): string {
    return `${this.limits}/${nameOf(rule)}/${nameOf(rows)}/${nameOf(key)}`;
  }

  /** The path for a request with an idempotency key. Idempotency keys are separate for each identity. */
  request(identity: string, idempotencyKey: string): string {
    return `${this.requests}/${digest(JSON.stringify([identity, idempotencyKey]))}`;
  }

  topic(topic: string): string {
    return `${this.notifications}/${nameOf(topic)}`;
  }
}

/** The ancestors of a znode, topmost first. */
export function parentsOf(path: string): string[] {
  const names = path.split("/").slice(1, -1);
  return names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`);
}
