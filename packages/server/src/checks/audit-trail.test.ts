import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { AuditEvent } from "../audit/audit.ts";
import { AuditTrail } from "./audit-trail.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function event(subject: string, minute = 0): AuditEvent {
  const by = { actor_id: "system", actor_name: "headgate" };
  return {
    at: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
    ...by,
    action: "state.throttled",
    subject,
    before: null,
    after: null,
  };
}

/** A table that keeps what it gets, unless it is gone. */
class Table {
  readonly batches: (readonly AuditEvent[])[] = [];
  gone = false;

  async append(events: readonly AuditEvent[]): Promise<void> {
    if (this.gone) throw new Error("gone");
    this.batches.push(events);
  }

  get subjects(): string[] {
    return this.batches.flat().map(({ subject }) => subject);
  }
}

describe("the audit trail of checks", () => {
  it("writes a second later, all together", async () => {
    const table = new Table();
    const trail = new AuditTrail(table);
    trail.add(event("a"));
    await vi.advanceTimersByTimeAsync(999);
    trail.add(event("b"));
    expect(table.batches).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(table.batches).toEqual([[event("a"), event("b")]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("leaves entries of other nodes to them, and writes those of unknown origin", async () => {
    const table = new Table();
    const trail = new AuditTrail(table);
    trail.add(event("ours"), async () => true);
    trail.add(event("theirs"), async () => false);
    trail.add(event("unknown"), () => Promise.reject(new Error("gone")));
    await trail.close();
    expect(table.subjects).toEqual(["ours", "unknown"]);
  });

  it("does not look up the origin of entries that it has no room for", async () => {
    const trail = new AuditTrail(new Table());
    const isOurs = vi.fn(async () => true);
    for (let i = 0; i < 1_100; i += 1) trail.add(event(String(i)), isOurs);
    await trail.close();
    expect(isOurs).toHaveBeenCalledTimes(1_000);
  });

  it("writes no more than 500 at once", async () => {
    const table = new Table();
    const trail = new AuditTrail(table);
    for (let i = 0; i < 1_200; i += 1) trail.add(event(String(i), i % 2));
    await trail.close();
    expect(table.batches.map(({ length }) => length)).toEqual([500, 500, 200]);
    expect(table.subjects).toEqual(Array.from({ length: 1_200 }, (_, i) => String(i)));
  });

  it("keeps what cannot be written, and tries again each second", async () => {
    const table = new Table();
    const trail = new AuditTrail(table);
    table.gone = true;
    trail.add(event("a"));
    await vi.advanceTimersByTimeAsync(3_500);
    trail.add(event("b"));
    expect(trail.stats).toEqual({ waiting: 2, lost: 0 });
    table.gone = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(table.subjects).toEqual(["a", "b"]);
  });

  it("keeps 10,000 at the most, and then writes how many were lost", async () => {
    const table = new Table();
    const trail = new AuditTrail(table);
    table.gone = true;
    for (let i = 0; i < 10_007; i += 1) trail.add(event(String(i), Math.floor(i / 1_000)));
    expect(trail.stats).toEqual({ waiting: 10_000, lost: 7 });
    table.gone = false;
    await trail.close();
    const lost = table.batches.flat().filter(({ action }) => action === "audit.lost");
    expect(lost).toMatchObject([{ after: { lost: 7 } }]);
    expect(table.subjects).toHaveLength(10_001);
    expect(trail.stats).toEqual({ waiting: 0, lost: 0 });
  });

  it("takes at most 1,000 in a minute, so that throttled clients cannot fill the disk", async () => {
    const table = new Table();
    const trail = new AuditTrail(table);
    for (let i = 0; i < 1_500; i += 1) trail.add(event(String(i)));
    expect(trail.stats).toEqual({ waiting: 1_000, lost: 500 });
    trail.add(event("next", 1));
    await trail.close();
    expect(table.subjects).toHaveLength(1_002);
    expect(table.batches.flat().find(({ action }) => action === "audit.lost")).toMatchObject({ after: { lost: 500 } });
  });

  it("writes at once what must be, or lets it wait with the others if the database is gone", async () => {
    const table = new Table();
    const trail = new AuditTrail(table);
    await trail.addNow(event("a"));
    expect(table.subjects).toEqual(["a"]);
    table.gone = true;
    await trail.addNow(event("b"));
    expect(trail.stats.waiting).toBe(1);
    table.gone = false;
    await trail.close();
    expect(table.subjects).toEqual(["a", "b"]);
  });

  it("leaves no timer behind when it is closed, though the database is gone", async () => {
    const table = new Table();
    const trail = new AuditTrail(table);
    table.gone = true;
    trail.add(event("a"));
    await trail.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
