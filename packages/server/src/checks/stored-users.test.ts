import { describe, expect, it, vi } from "vitest";
import { userData } from "../../test/checks/fixtures.ts";
import { StoredUsers } from "./stored-users.ts";
import { UserDataCache } from "./user-data-cache.ts";

/** Users with stored data, in a database that may be unavailable or slow. */
class Users {
  readonly stored = new Set<string>();
  gone = false;
  readings = 0;
  lookups = 0;
  private slow: Promise<void> | undefined;

  async ids(most: number): Promise<readonly string[] | undefined> {
    this.readings += 1;
    const ids = [...this.stored];
    await this.slow;
    if (this.gone) throw new Error("gone");
    return ids.length > most ? undefined : ids;
  }

  async get(id: string) {
    this.lookups += 1;
    return userData(id, this.stored.has(id) ? { tier: "premium" } : { version: 0 });
  }

  hold(): () => void {
    let release = () => {};
    this.slow = new Promise((resolve) => {
      release = resolve;
    });
    return () => {
      this.slow = undefined;
      release();
    };
  }
}

describe("users without stored data", () => {
  it("are answered at once, without the database", async () => {
    const users = new Users();
    users.stored.add("a");
    const { userDataCache } = await read(users);
    expect(userDataCache.of("nobody")).toBeUndefined();
    expect(users.lookups).toBe(0);
    expect(await userDataCache.of("a")).toMatchObject({ tier: "premium" });
    expect(userDataCache.of("a")).toMatchObject({ tier: "premium" });
    expect(users.lookups).toBe(1);
  });

  it("are looked up once something is stored of them", async () => {
    const users = new Users();
    const { userDataCache } = await read(users);
    expect(userDataCache.of("a")).toBeUndefined();
    users.stored.add("a");
    userDataCache.changed({ kind: "user", user_id: "a" });
    expect(await userDataCache.of("a")).toMatchObject({ tier: "premium" });
    expect(userDataCache.of("b")).toBeUndefined();
    expect(users.readings).toBe(1);
  });

  it("are read again when changes may have been missed, and looked up until that is done", async () => {
    const users = new Users();
    const { userDataCache, stored } = await read(users);
    users.stored.add("a");
    const release = users.hold();
    userDataCache.changed({ kind: "all" });
    expect(await userDataCache.of("a")).toMatchObject({ tier: "premium" });
    expect(await userDataCache.of("b")).toBeUndefined();
    expect(users.lookups).toBe(2);
    release();
    await vi.waitFor(() => expect(stored.lack("c")).toBe(true));
    expect(userDataCache.of("c")).toBeUndefined();
    expect(users.lookups).toBe(2);
  });

  it("do not include users that were stored during the reading", async () => {
    const users = new Users();
    const stored = new StoredUsers(users);
    const release = users.hold();
    const reading = stored.read();
    stored.changed({ kind: "user", user_id: "late" });
    release();
    await reading;
    expect(stored.lack("late")).toBe(false);
    expect(stored.lack("b")).toBe(true);
  });

  it("are not taken from a reading that began before changes may have been missed", async () => {
    const users = new Users();
    const stored = new StoredUsers(users);
    const releaseFirst = users.hold();
    const reading = stored.read();
    users.stored.add("a");
    const releaseSecond = users.hold();
    stored.changed({ kind: "all" });
    releaseFirst();
    await reading;
    expect(stored.lack("a")).toBe(false);
    releaseSecond();
    await vi.waitFor(() => expect(stored.lack("b")).toBe(true));
    expect(stored.lack("a")).toBe(false);
    expect(users.readings).toBe(2);
  });

  it("are looked up when there are too many of the others, from the start or later", async () => {
    const users = new Users();
    for (const id of ["a", "b"]) users.stored.add(id);
    const { stored } = await read(users, 2);
    expect(stored.lack("c")).toBe(true);
    stored.changed({ kind: "user", user_id: "c" });
    expect(stored.lack("d")).toBe(false);
    users.stored.add("c");
    stored.changed({ kind: "all" });
    await Promise.resolve();
    for (let i = 0; i < 3; i += 1) expect(stored.lack("d")).toBe(false);
    expect(users.readings).toBe(2);
  });

  it("are looked up while the database cannot be read, which is tried again after a while", async () => {
    const users = new Users();
    users.gone = true;
    const { stored } = await read(users);
    expect(stored.lack("a")).toBe(false);
    expect(users.readings).toBe(1);
    users.gone = false;
    await vi.waitFor(() => expect(stored.lack("a")).toBe(true));
    expect(users.readings).toBe(2);
  });
});

async function read(users: Users, maxUsers = 100) {
  const stored = new StoredUsers(users, { maxUsers, retryMs: 30 });
  await stored.read();
  return { stored, userDataCache: new UserDataCache(users, { stored }) };
}
