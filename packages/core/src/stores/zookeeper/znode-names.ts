import { digest } from "../redis/key-names.ts";

/** Longer names are hashed: a key of a megabyte would be sent with each call. */
const LONGEST = 128;

/**
 * What ZooKeeper allows in no name, the slash that separates names, and the sign that escapes begin with. Halves of
 * surrogate pairs are among it, and whole pairs with them.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: ZooKeeper forbids them.
const SPECIAL = /[%/\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/g;

/** Any text as the name of a znode. No two texts give the same name: a `%` of their own is always escaped. */
export function nameOf(text: string): string {
  if (text.length > LONGEST) return `%#${digest(text)}`;
  // Neither an empty name is allowed, nor these two, which mean other places.
  if (text === "") return "%";
  if (text === "." || text === "..") return text.replaceAll(".", "%2E");
  return text.replace(SPECIAL, (unit) => {
    const code = unit.charCodeAt(0).toString(16).toUpperCase();
    return code.length > 2 ? `%u${code.padStart(4, "0")}` : `%${code.padStart(2, "0")}`;
  });
}

/** Where the pieces of a store lie. */
export class Places {
  readonly root: string;
  /** `limits/<rule>/<algorithm>/<key>`. */
  readonly limits: string;
  /** Requests that were answered, by their idempotency keys. */
  readonly requests: string;
  /** What is to be deleted, and since when. */
  readonly graves: string;
  readonly bulletin: string;
  /** Is written to only to learn the time. */
  readonly clock: string;
  /** When somebody last looked for what has expired. */
  readonly sweep: string;

  constructor(root: string) {
    this.root = root;
    this.limits = `${root}/limits`;
    this.requests = `${root}/requests`;
    this.graves = `${root}/graves`;
    this.bulletin = `${root}/bulletin`;
    this.clock = `${root}/clock`;
    this.sweep = `${root}/sweep`;
  }

  /** Of one key under a rule. Another algorithm starts anew, in a place of its own. */
  row(rule: string, algorithm: string, key: string): string {
    return `${this.limits}/${nameOf(rule)}/${algorithm}/${nameOf(key)}`;
  }

  /** Of a request with an idempotency key; each identity has keys of its own. */
  request(identity: string, idempotencyKey: string): string {
    return `${this.requests}/${digest(JSON.stringify([identity, idempotencyKey]))}`;
  }

  topic(topic: string): string {
    return `${this.bulletin}/${nameOf(topic)}`;
  }
}

/** The znodes above one, the topmost first. */
export function parentsOf(path: string): string[] {
  const names = path.split("/").slice(1, -1);
  return names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`);
}
