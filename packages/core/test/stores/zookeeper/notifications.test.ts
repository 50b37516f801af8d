import { eventually } from "headgate-testkit/eventually";
import { describe, expect, it } from "vitest";
import { useZooKeeper } from "./zookeeper.ts";

const zookeeper = useZooKeeper();

describe("the notifications", () => {
  async function pair() {
    const root = zookeeper.newRoot();
    const [one, other] = await Promise.all([0, 1].map(() => zookeeper.store({ root, timeoutMs: 1_000 })));
    return { one, other };
  }

  /** Posts until it is heard: it is a hint, and the watch may not be there yet. */
  async function heard(texts: readonly string[], text: string, post: () => void): Promise<void> {
    const before = texts.length;
    await eventually("it is heard", async () => {
      post();
      return texts.slice(before).includes(text);
    });
  }

  it("delivers a message to all subscribers of its topic, including the sender", async () => {
    const { one, other } = await pair();
    const told: string[] = [];
    const own: string[] = [];
    other.notifications.subscribe("pool a/b", (text) => told.push(text));
    one.notifications.subscribe("pool a/b", (text) => own.push(text));
    other.notifications.subscribe("another", () => told.push("wrong"));
    await heard(told, "empty 👍", () => one.notifications.post("pool a/b", "empty 👍"));
    expect(new Set(told)).toEqual(new Set(["empty 👍"]));
    await heard(own, "empty 👍", () => one.notifications.post("pool a/b", "empty 👍"));
    await heard(told, "full", () => one.notifications.post("pool a/b", "full"));
    // The same text is news when it is posted again.
    await heard(told, "full", () => one.notifications.post("pool a/b", "full"));
  });

  it("delivers neither earlier messages nor messages to a former subscriber", async () => {
    const { one, other } = await pair();
    const early: string[] = [];
    const late: string[] = [];
    const leave = one.notifications.subscribe("t", (text) => early.push(text));
    await heard(early, "old", () => other.notifications.post("t", "old"));
    leave();
    const count = early.length;
    other.notifications.subscribe("t", (text) => late.push(text));
    await heard(late, "new", () => one.notifications.post("t", "new"));
    expect(late).not.toContain("old");
    expect(early).toHaveLength(count);
  });

  it("continues after a restart of the server, and never throws", async () => {
    const { one, other } = await pair();
    const told: string[] = [];
    other.notifications.subscribe("t", (text) => told.push(text));
    await heard(told, "before", () => one.notifications.post("t", "before"));
    await zookeeper.server.kill();
    one.notifications.post("t", "nobody hears");
    one.notifications.subscribe("nobody tells", () => {});
    await zookeeper.server.start();
    await heard(told, "after", () => one.notifications.post("t", "after"));
  });
});
