import { describe, expect, it, vi } from "vitest";
import { standing } from "../../test/checks/fixtures.ts";
import type { Standing } from "../rules/user-limits.ts";
import { Standings } from "./user-data.ts";

/** A table of users that answers when it is told to, if it is there. */
class Users {
  readonly stored = new Map<string, Standing>();
  asked = 0;
  gone = false;
  silent = false;
  private held: (() => void)[] | undefined;

  async get(id: string): Promise<Standing> {
    this.asked += 1;
    if (this.silent) return new Promise(() => {});
    if (this.gone) throw new Error("gone");
    const found = this.stored.get(id) ?? standing(id, { version: 0 });
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
    users.stored.set("a", standing("a", { tier: "premium" }));
    const standings = new Standings(users);
    expect(await standings.of("a")).toMatchObject({ tier: "premium" });
    expect(standings.of("a")).toMatchObject({ tier: "premium" });
    expect(await standings.of("nobody")).toBeUndefined();
    expect(standings.of("nobody")).toBeUndefined();
    expect(users.asked).toBe(2);
  });

  it("is asked once for many checks of a user at the same time", async () => {
    const users = new Users();
    const standings = new Standings(users);
    await Promise.all(Array.from({ length: 100 }, () => standings.of("a")));
    expect(users.asked).toBe(1);
  });

  it("is asked anew after a change: of one user, or of all if changes may have been missed", async () => {
    const users = new Users();
    const standings = new Standings(users);
    await standings.of("a");
    await standings.of("b");
    users.stored.set("a", standing("a", { tier: "premium" }));
    standings.changed({ kind: "rules" });
    standings.changed({ kind: "user", user_id: "stranger" });
    expect(standings.of("a")).toBeUndefined();
    standings.changed({ kind: "user", user_id: "a" });
    expect(await standings.of("a")).toMatchObject({ tier: "premium" });
    expect(standings.of("b")).toBeUndefined();
    expect(users.asked).toBe(3);
    users.stored.set("b", standing("b", { tier: "premium" }));
    standings.changed({ kind: "all" });
    expect(await standings.of("b")).toMatchObject({ tier: "premium" });
  });

  it("is not what was read before a change that came while it was on its way", async () => {
    const users = new Users();
    const standings = new Standings(users);
    const release = users.hold();
    const before = standings.of("a");
    await Promise.resolve();
    users.stored.set("a", standing("a", { tier: "premium" }));
    standings.changed({ kind: "user", user_id: "a" });
    const after = standings.of("a");
    release();
    expect(await before).toBeUndefined();
    expect(await after).toMatchObject({ tier: "premium" });
    expect(await standings.of("a")).toMatchObject({ tier: "premium" });
  });

  it("is asked again after a change, though the question before it was answered last", async () => {
    const users = new Users();
    const standings = new Standings(users);
    const release = users.hold();
    const before = standings.of("a");
    await Promise.resolve();
    standings.changed({ kind: "user", user_id: "a" });
    users.stored.set("a", standing("a", { tier: "premium" }));
    release();
    await before;
    expect(await standings.of("a")).toMatchObject({ tier: "premium" });
  });

  it("is the last that was known when the database is gone, or nothing; and it is left alone for a while", async () => {
    const users = new Users();
    const standings = new Standings(users, { retryMs: 30 });
    users.stored.set("a", standing("a", { tier: "premium" }));
    await standings.of("a");
    users.gone = true;
    standings.changed({ kind: "user", user_id: "a" });
    expect(await standings.of("a")).toMatchObject({ tier: "premium" });
    expect(standings.of("a")).toMatchObject({ tier: "premium" });
    expect(standings.of("stranger")).toBeUndefined();
    expect(users.asked).toBe(2);
    expect(standings.stats).toEqual({ failures: 1, lastKnown: 2, unknown: 1 });
    users.gone = false;
    users.stored.set("a", standing("a", { tier: "free" }));
    await vi.waitFor(async () => expect(await standings.of("a")).toMatchObject({ tier: "free" }));
    expect(standings.of("stranger")).toBeInstanceOf(Promise);
  });

  it("is not waited for longer than a check can wait", async () => {
    const users = new Users();
    const standings = new Standings(users, { patienceMs: 20 });
    users.silent = true;
    expect(await standings.of("a")).toBeUndefined();
    expect(standings.stats).toMatchObject({ failures: 1, unknown: 1 });
    expect(standings.of("b")).toBeUndefined();
  });

  it("is remembered of no more than so many", async () => {
    const users = new Users();
    const standings = new Standings(users, { maxUsers: 2 });
    for (const id of ["a", "b", "c", "c", "b"]) await standings.of(id);
    expect(users.asked).toBe(3);
    await standings.of("a");
    expect(users.asked).toBe(4);
  });
});
