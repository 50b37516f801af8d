// A separate process that changes a database, and prints each change once it is acknowledged.
import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { openDatabase } from "../../dist/database/open-database.js";

const { options, task, from, count } = JSON.parse(process.argv[2]);
const actor = { id: `writer ${process.pid}`, name: "a writer" };

/** At once, so that it is out when the process is killed in the next moment. */
function print(line) {
  writeSync(1, `${line}\n`);
}

const tasks = {
  /** Each user is new: what was acknowledged must be there. */
  async users(database) {
    for (let i = from; i < from + count; i += 1) {
      try {
        await database.users.setTier(`u${i}`, `tier ${i}`, actor);
        print(i);
      } catch (error) {
        if (error.code !== "HG_DATABASE_UNREACHABLE") throw error;
        await delay(20);
      }
    }
  },

  /** All count the same rule up, by what they have read: no count may get lost. */
  async counter(database) {
    for (let i = 0; i < count; ) {
      const rule = await database.rules.get("counter");
      const result = await database.rules.update({ ...rule, limit: rule.limit + 1 }, actor, rule.version);
      if ("conflict" in result) continue;
      i += 1;
      print(i);
    }
  },
};

const database = await openDatabase(options);
await tasks[task](database);
await database.close();
