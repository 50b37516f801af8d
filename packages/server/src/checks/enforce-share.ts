import type { RuleInput } from "../rules/rule.ts";

/**
 * Whether a rule is enforced for a key. A key for which it is enforced stays so when the share grows, and every node
 * chooses the same keys. The rule is part of the hash, so that not all trials are on the same keys.
 */
export function isEnforced(
  { rule_id, enforce_share }: Pick<RuleInput, "rule_id" | "enforce_share">,
  key: string,
): boolean {
  return enforce_share === null || enforce_share >= 1 || shareOf(`${rule_id}\0${key}`) < enforce_share;
}

/** A number from 0 up to 1 that depends on every character: FNV-1a, and the final mix of MurmurHash3. */
export function shareOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    hash = Math.imul(hash ^ (code & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (code >>> 8), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
