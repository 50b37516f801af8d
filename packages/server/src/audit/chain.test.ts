import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AuditEntry, AuditEvent } from "./audit.ts";
import { ChainWalk, canonicalJson, chained, GENESIS, type Link } from "./chain.ts";

const start: Link = { seq: 0, hash: GENESIS };

function chainOf(events: readonly AuditEvent[]): AuditEntry[] {
  let last = start;
  return events.map((event) => {
    const entry = chained(event, last);
    last = entry;
    return entry;
  });
}

/** Where the walk along these entries ends, if the chain was to end with `head`. */
function walked(entries: readonly AuditEntry[], head: Link): ChainWalk {
  const walk = new ChainWalk(start);
  for (const entry of entries) walk.step(entry);
  walk.end(head);
  return walk;
}

const event: fc.Arbitrary<AuditEvent> = fc.record({
  at: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  actor_id: fc.string(),
  actor_name: fc.string({ unit: "binary" }),
  action: fc.constantFrom("rule.create", "limit.reset"),
  subject: fc.string(),
  before: fc.jsonValue(),
  after: fc.jsonValue(),
});
const chain = fc.array(event, { minLength: 1, maxLength: 8 }).map(chainOf);
const place = fc.nat(1_000);

describe("the hash of an audit entry", () => {
  it("is the SHA-256 of the canonical JSON, computed without the service", () => {
    const [entry] = chainOf([
      {
        at: "2026-01-02T03:04:05.678Z",
        actor_id: "k1",
        actor_name: "Ann",
        action: "rule.update",
        subject: "rule:a",
        before: { limit: 1, burst: null },
        after: { burst: 2, limit: 1 },
      },
    ]);
    // printf of the JSON below | sha256sum
    // {"action":"rule.update","actor_id":"k1","actor_name":"Ann","after":{"burst":2,"limit":1},"at":"2026-01-02T03:04:05.678Z","before":{"burst":null,"limit":1},"previous_hash":"000…000","seq":1,"subject":"rule:a"}
    expect(entry.hash).toBe("42612df45d479aed5606b45487b07ff4e6a9aa0a5cb63b1308a51eb21c242b2d");
  });

  it("does not depend on the order of names, at any depth", () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}');
    expect(canonicalJson(JSON.parse('{"__proto__":1,"10":2,"9":3}'))).toBe(
      canonicalJson(JSON.parse('{"9":3,"__proto__":1,"10":2}')),
    );
    expect(canonicalJson(JSON.parse('{"__proto__":1}'))).not.toBe(canonicalJson({}));
    expect(canonicalJson(undefined)).toBe("null");
  });

  it("is the same for an entry that was stored as JSON and read again", () => {
    fc.assert(
      fc.property(chain, (entries) => {
        const stored: AuditEntry[] = JSON.parse(JSON.stringify(entries));
        expect(walked(stored, entries[entries.length - 1]).breaks).toEqual([]);
      }),
    );
  });
});

describe("a walk along the chain", () => {
  it("finds every field that was edited, at its entry", () => {
    const edits = fc.constantFrom<Partial<AuditEntry>>(
      { at: "1999-12-31T23:59:59.999Z" },
      { actor_id: "someone else entirely" },
      { actor_name: "someone else entirely" },
      { action: "key.revoke" },
      { subject: "user:somebody else entirely" },
      { before: { edited: true } },
      { after: { edited: true } },
      { previous_hash: "f".repeat(64) },
      { hash: "f".repeat(64) },
    );
    fc.assert(
      fc.property(chain, place, edits, (entries, at, edit) => {
        const index = at % entries.length;
        const edited = entries.with(index, { ...entries[index], ...edit });
        const walk = walked(edited, entries[entries.length - 1]);
        expect(walk.breaks[0]?.seq).toBe(index + 1);
        expect(walk.entries).toBeGreaterThanOrEqual(entries.length - 2);
        expect(walk.entries).toBeLessThan(entries.length);
      }),
    );
  });

  it("finds an entry that was edited and rehashed, by the one after it or by the head", () => {
    fc.assert(
      fc.property(chain, place, (entries, at) => {
        const index = at % entries.length;
        const before = index === 0 ? start : entries[index - 1];
        const forged = chained({ ...entries[index], after: { forged: true } }, before);
        const walk = walked(entries.with(index, forged), entries[entries.length - 1]);
        expect(walk.breaks[0]?.seq).toBe(Math.min(index + 2, entries.length));
      }),
    );
  });

  it("finds what was removed, whether at the beginning, in the middle or at the end", () => {
    fc.assert(
      fc.property(chain, place, place, (entries, at, count) => {
        const index = at % entries.length;
        const left = entries.toSpliced(index, 1 + (count % 3));
        expect(walked(left, entries[entries.length - 1]).breaks[0]?.seq).toBe(index + 1);
      }),
    );
  });

  it("finds two entries that changed places", () => {
    fc.assert(
      fc.property(chain, place, place, (entries, one, other) => {
        const [a, b] = [one % entries.length, other % entries.length].sort((x, y) => x - y);
        fc.pre(a !== b);
        const swapped = entries.with(a, { ...entries[b], seq: a + 1 }).with(b, { ...entries[a], seq: b + 1 });
        expect(walked(swapped, entries[entries.length - 1]).breaks[0]?.seq).toBe(a + 1);
      }),
    );
  });
});
