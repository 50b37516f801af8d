import { inspect } from "node:util";
import { expect, it } from "vitest";
import { resilient } from "../../../src/index.ts";
import { ZooKeeperStore } from "../../../src/zookeeper.ts";

const SECRET = "pl4nted-s3cret";

it("does not show its password when it is printed", async () => {
  // No server listens there.
  const store = new ZooKeeperStore("127.0.0.1:1", { auth: `user:${SECRET}` });
  for (const value of [store, resilient(store)]) {
    const text = inspect(value, { depth: 30, showHidden: true, maxArrayLength: null });
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain(inspect(Buffer.from(SECRET)).slice("<Buffer ".length, -1));
  }
  await store.close();
});
