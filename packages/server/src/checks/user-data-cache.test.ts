import { describe, expect, it, vi } from "vitest";
import { userData } from "../../test/checks/fixtures.ts";
import type { UserData } from "../rules/user-limits.ts";
import { UserDataCache } from "./user-data-cache.ts";

/** A table of users that answers on demand, if it is available. */
class Users {
  readonly stored = new Map<string, UserData>();
  asked = 0;
  gone = false;
  silent = false;
  private held: (() => void)[] | undefined;

  async get(id: string): Promise<UserData> {
    this.asked += 1;
    if (this.silent) return new Promise(() => {});
    if (this.gone) throw new Error("gone");
    const found = this.stored.get(id) ?? userData(id, { version: 0 });
    if (this.held !== undefined) await new Promise<void>((resolve) => this.held?.push(resolve));
    return found;
  }

  hold(): () => void {
    const held: (() => void)[] = [];
    this.held = held;
    return () => {
      this.held = undefined;
      for (const release of held) release();
    };
  }
}

describe("what is known of users", () => {
  it("is asked of the database once, and then answered at once", async () => {
    const users = new Users();
    users.stored.set("a", userData("a", { tier: "premium" }));
    const userDataCache = new UserDataCache(users);
    expect(await userDataCache.of("a")).toMatchObject({ tier: "premium" });
    expect(userDataCache.of("a")).toMatchObject({ tier: "premium" });
    expect(await userDataCache.of("nobody")).toBeUndefined();
    expect(userDataCache.of("nobody")).toBeUndefined();
    expect(users.asked).toBe(2);
  });

  it("is asked once for many checks of a user at the same time", async () => {
    const users = new Users();
    const userDataCache = new UserDataCache(users);
    await Promise.all(Array.from({ length: 100 }, () => userDataCache.of("a")));
    expect(users.asked).toBe(1);
  });

  it("is read again after a change: of one user, or of all if changes may have been missed", async () => {
    const users = new Users();
    const userDataCache = new UserDataCache(users);
    await userDataCache.of("a");
    await userDataCache.of("b");
    users.stored.set("a", userData("a", { tier: "premium" }));
    userDataCache.changed({ kind: "rules" });
    userDataCache.changed({ kind: "user", user_id: "stranger" });
    expect(userDataCache.of("a")).toBeUndefined();
    userDataCache.changed({ kind: "user", user_id: "a" });
    expect(await userDataCache.of("a")).toMatchObject({ tier: "premium" });
    expect(userDataCache.of("b")).toBeUndefined();
    expect(users.asked).toBe(3);
    users.stored.set("b", userData("b", { tier: "premium" }));
    userDataCache.changed({ kind: "all" });
    expect(await userDataCache.of("b")).toMatchObject({ tier: "premium" });
  });

  it("is not what was read before a change that came while it was on its way", async () => {
    const users = new Users();
    const userDataCache = new UserDataCache(users);
    const release = users.hold();
    const before = userDataCache.of("a");
    await Promise.resolve();
    users.stored.set("a", userData("a", { tier: "premium" }));
    userDataCache.changed({ kind: "user", user_id: "a" });
    const after = userDataCache.of("a");
    release();
    expect(await before).toBeUndefined();
    expect(await after).toMatchObject({ tier: "premium" });
    expect(await userDataCache.of("a")).toMatchObject({ tier: "premium" });
  });

  it("is asked again after a change, though the question before it was answered last", async () => {
    const users = new Users();
    const userDataCache = new UserDataCache(users);
    const release = users.hold();
    const before = userDataCache.of("a");
    await Promise.resolve();
    userDataCache.changed({ kind: "user", user_id: "a" });
    users.stored.set("a", userData("a", { tier: "premium" }));
    release();
    await before;
    expect(await userDataCache.of("a")).toMatchObject({ tier: "premium" });
  });

  it("is the last that was known when the database is gone, or nothing; and it is left alone for a while", async () => {
    const users = new Users();
    const userDataCache = new UserDataCache(users, { retryMs: 30 });
    users.stored.set("a", userData("a", { tier: "premium" }));
    await userDataCache.of("a");
    users.gone = true;
    userDataCache.changed({ kind: "user", user_id: "a" });
    expect(await userDataCache.of("a")).toMatchObject({ tier: "premium" });
    expect(userDataCache.of("a")).toMatchObject({ tier: "premium" });
    expect(userDataCache.of("stranger")).toBeUndefined();
    expect(users.asked).toBe(2);
    expect(userDataCache.stats).toEqual({ failures: 1, lastKnown: 2, unknown: 1 });
    users.gone = false;
    users.stored.set("a", userData("a", { tier: "free" }));
    await vi.waitFor(async () => expect(await userDataCache.of("a")).toMatchObject({ tier: "free" }));
    expect(userDataCache.of("stranger")).toBeInstanceOf(Promise);
  });

  it("is not waited for longer than a check can wait", async () => {
    const users = new Users();
    const userDataCache = new UserDataCache(users, { patienceMs: 20 });
    users.silent = true;
    expect(await userDataCache.of("a")).toBeUndefined();
    expect(userDataCache.stats).toMatchObject({ failures: 1, unknown: 1 });
    expect(userDataCache.of("b")).toBeUndefined();
  });

  it("is remembered for a bounded number of users", async () => {
    const users = new Users();
    const userDataCache = new UserDataCache(users, { maxUsers: 2 });
    for (const id of ["a", "b", "c", "c", "b"]) await userDataCache.of(id);
    expect(users.asked).toBe(3);
    await userDataCache.of("a");
    expect(users.asked).toBe(4);
  });
});
