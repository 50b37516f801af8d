import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Change } from "../database/database.ts";
import { type ApiKeyRecord, ROLES } from "./api-key.ts";
import { KeyRing, type KeyStore } from "./key-ring.ts";
import { hashOf, makeKey } from "./secret.ts";

/** The keys of a database, and its change feed. */
class Keys implements KeyStore {
  readonly records = new Map<string, ApiKeyRecord>();
  readonly listeners = new Set<(change: Change) => void>();
  gone = false;
  reads = 0;

  readonly keys: KeyStore["keys"] = {
    all: async () => {
      this.reads += 1;
      if (this.gone) throw new Error("gone");
      return [...this.records.values()];
    },
    add: async (record) => {
      this.records.set(record.key_id, record);
    },
    revoke: async (id) => {
      const record = this.records.get(id);
      if (record === undefined) return { conflict: "missing" };
      this.records.set(id, { ...record, revoked_at: new Date(0).toISOString() });
      return record;
    },
  };

  onChange(listener: (change: Change) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell(change: Change): void {
    for (const listener of this.listeners) listener(change);
  }
}

const NOW = Date.parse("2026-05-01T00:00:00Z");

let store: Keys;
let now: number;
let ring: KeyRing;

beforeEach(() => {
  store = new Keys();
  now = NOW;
  ring = new KeyRing(store, { now: () => now });
});
afterEach(() => {
  ring.close();
  vi.useRealTimers();
});

async function add(expires: Date | null = null): Promise<{ readonly id: string; readonly secret: string }> {
  const { record, secret } = makeKey("a client", ["check"], { expires, now: new Date(now) });
  store.records.set(record.key_id, record);
  await ring.refresh();
  return { id: record.key_id, secret };
}

describe("a key", () => {
  it("has 256 random bits, and only its hash is kept", () => {
    const { record, secret } = makeKey("a", ROLES);
    expect(secret).toMatch(/^hg_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/);
    expect(Buffer.from(secret.slice(-43), "base64url")).toHaveLength(32);
    expect(record.hash).toBe(hashOf(secret).toString("hex"));
    expect(JSON.stringify(record)).not.toContain(secret.slice(-43));
    expect(makeKey("a", ROLES).secret).not.toBe(secret);
  });

  it("identifies its owner", async () => {
    const { id, secret } = await add();
    expect(ring.authenticate(`Bearer ${secret}`)).toEqual({ id, name: "a client", roles: ["check"], namespace: id });
    expect(ring.authenticate(`bearer  ${secret}`)?.id).toBe(id);
  });

  it("is taken whole or not at all", async () => {
    const { id, secret } = await add();
    const { secret: another } = await add();
    const flipped = secret.endsWith("A") ? `${secret.slice(0, -1)}B` : `${secret.slice(0, -1)}A`;
    const mixed = `hg_${id}_${another.slice(-43)}`;
    const wrong = [secret, `Basic ${secret}`, `Bearer ${flipped}`, `Bearer ${mixed}`, `Bearer ${secret}x`];
    for (const header of [...wrong, "Bearer", "Bearer ", `Bearer ${secret} ${secret}`, "", undefined]) {
      expect(ring.authenticate(header)).toBeUndefined();
    }
    expect(ring.authenticate(`Bearer hg_${id}_${store.records.get(id)?.hash.slice(0, 43)}`)).toBeUndefined();
  });

  it("ends when it expires, to the millisecond", async () => {
    const { secret } = await add(new Date(NOW + 1_000));
    now = NOW + 999;
    expect(ring.authenticate(`Bearer ${secret}`)).toBeDefined();
    now = NOW + 1_000;
    expect(ring.authenticate(`Bearer ${secret}`)).toBeUndefined();
  });

  it("stops working when the change feed reports that it was revoked", async () => {
    const { id, secret } = await add();
    await store.keys.revoke(id, { id: "system", name: "" });
    expect(ring.authenticate(`Bearer ${secret}`)).toBeDefined();
    store.tell({ kind: "keys" });
    await vi.waitFor(() => expect(ring.authenticate(`Bearer ${secret}`)).toBeUndefined());
  });

  it("ends, too, when changes may have been missed", async () => {
    const { id, secret } = await add();
    await store.keys.revoke(id, { id: "system", name: "" });
    store.tell({ kind: "rules" });
    store.tell({ kind: "user", user_id: "42" });
    expect(store.reads).toBe(1);
    store.tell({ kind: "all" });
    await vi.waitFor(() => expect(ring.authenticate(`Bearer ${secret}`)).toBeUndefined());
  });

  it("stays in force while the database is gone, and the database is asked again until it answers", async () => {
    const errors: unknown[] = [];
    ring.close();
    ring = new KeyRing(store, { now: () => now, onError: (error) => errors.push(error) });
    const { id, secret } = await add();
    vi.useFakeTimers();
    await store.keys.revoke(id, { id: "system", name: "" });
    store.gone = true;
    store.tell({ kind: "keys" });
    await vi.advanceTimersByTimeAsync(700);
    expect(errors).toHaveLength(3);
    expect(ring.authenticate(`Bearer ${secret}`)?.id).toBe(id);
    store.gone = false;
    await vi.advanceTimersByTimeAsync(250);
    expect(ring.authenticate(`Bearer ${secret}`)).toBeUndefined();
  });

  it("is not asked for after the ring is closed", async () => {
    ring.close();
    store.tell({ kind: "keys" });
    expect(store.reads).toBe(0);
  });

  it("is not brought back by a read that began before the last one", async () => {
    const { id, secret } = await add();
    let release = () => {};
    const before = [...store.records.values()];
    const slow = new Promise<readonly ApiKeyRecord[]>((resolve) => {
      release = () => resolve(before);
    });
    const all = vi.spyOn(store.keys, "all").mockReturnValueOnce(slow);
    const first = ring.refresh();
    await store.keys.revoke(id, { id: "system", name: "" });
    await ring.refresh();
    release();
    await first;
    expect(all).toHaveBeenCalledTimes(2);
    expect(ring.authenticate(`Bearer ${secret}`)).toBeUndefined();
  });
});

describe("a session", () => {
  it("can be verified by every ring that knows its key, and by no other", async () => {
    const { id } = await add();
    const started = ring.startSession(id, 1_000);
    const other = new KeyRing(store, { now: () => now });
    await other.refresh();
    expect(other.session(started?.token ?? "")).toMatchObject({ principal: { id }, csrfToken: started?.csrfToken });
    other.close();
    const stranger = new KeyRing(new Keys(), { now: () => now });
    expect(stranger.session(started?.token ?? "")).toBeUndefined();
    stranger.close();
  });

  it("ends with its key, which may be sooner", async () => {
    const { id } = await add(new Date(NOW + 500));
    const started = ring.startSession(id, 1_000);
    expect(started?.expiresAt).toBe(NOW + 500);
    now = NOW + 500;
    expect(ring.session(started?.token ?? "")).toBeUndefined();
    expect(ring.startSession(id, 1_000)).toBeUndefined();
  });

  it("can be started with the admin key of the settings, and ends if that is another", () => {
    ring.close();
    ring = new KeyRing(store, { adminKey: "correct-horse-battery", now: () => now });
    const started = ring.startSession("admin", 1_000);
    expect(ring.session(started?.token ?? "")?.principal).toMatchObject({ id: "admin", roles: ROLES });
    const changed = new KeyRing(store, { adminKey: "another-horse-battery", now: () => now });
    expect(changed.session(started?.token ?? "")).toBeUndefined();
    changed.close();
  });
});

describe("the first admin key", () => {
  it("is made once, with every role", async () => {
    const secret = await ring.makeFirstKey();
    expect(ring.authenticate(`Bearer ${secret}`)).toMatchObject({ roles: ROLES });
    expect(await ring.makeFirstKey()).toBeUndefined();
    expect(store.records.size).toBe(1);
  });

  it("is created again if there is no other admin key", async () => {
    await ring.makeFirstKey();
    for (const id of store.records.keys()) await store.keys.revoke(id, { id: "system", name: "" });
    await add();
    expect(await ring.makeFirstKey()).toBeDefined();
  });

  it("may be given, and is then kept nowhere", async () => {
    ring.close();
    ring = new KeyRing(store, { adminKey: "correct-horse-battery" });
    expect(await ring.makeFirstKey()).toBeUndefined();
    expect(ring.authenticate("Bearer correct-horse-battery")).toMatchObject({ id: "admin", roles: ROLES });
    expect(ring.authenticate("Bearer correct-horse-batterz")).toBeUndefined();
    expect(store.records.size).toBe(0);
  });

  it("may look like one of ours", () => {
    const { secret } = makeKey("a", ROLES);
    ring.close();
    ring = new KeyRing(store, { adminKey: secret });
    expect(ring.authenticate(`Bearer ${secret}`)?.id).toBe("admin");
  });

  it.each(["", "short", "with a blank in it", "a".repeat(513)])("is refused if it is %j, and not shown", (key) => {
    const make = () => new KeyRing(store, { adminKey: key });
    expect(make).toThrow(/HEADGATE_ADMIN_KEY: must have/);
    if (key !== "") expect(make).not.toThrow(key);
  });
});
