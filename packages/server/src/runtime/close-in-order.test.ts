import { expect, it } from "vitest";
import { Closing } from "./close-in-order.ts";

it("closes what was opened last first, each once, and all of it also when a part fails", async () => {
  const closed: string[] = [];
  const closing = new Closing();
  closing.add(() => closed.push("database"));
  closing.add(async () => {
    closed.push("store");
    throw new Error("the store");
  });
  closing.add(() => {
    closed.push("server");
    throw new Error("the server");
  });
  await expect(closing.close()).rejects.toThrow("the server");
  expect(closed).toEqual(["server", "store", "database"]);
  await closing.close();
  expect(closed).toHaveLength(3);
});
