// A separate process that charges two keys of a Redis Cluster, and is killed before or after one of its takes.
import { fixedWindow } from "headgate";
import { RedisStore } from "headgate/redis";
import { StoreWrapper } from "headgate/store";
import { AcrossKeys } from "../../dist/checks/across-keys.js";

const { url, keys, at, when } = JSON.parse(process.argv[2]);

class Mortal extends StoreWrapper {
  async apply(action, operations, options) {
    const isThere = action === "take" && operations.length === 1 && operations[0].key === keys[at];
    if (isThere && when === "before") return die([]);
    const answers = await super.apply(action, operations, options);
    return isThere ? die(answers) : answers;
  }
}

/** Prints what was left of the last key that was charged, and dies as if by kill -9. */
function die(answers) {
  process.send({ answers }, () => process.kill(process.pid, "SIGKILL"));
  return new Promise(() => {});
}

const rule = { name: "killed", limit: fixedWindow("5/d") };
const operations = keys.map((key) => ({ rule, key, cost: 2 }));
// A busy machine is not a failing store.
const store = new Mortal(new RedisStore(url, { timeoutMs: 60_000 }));
await store.ready();
await new AcrossKeys(store, { isJournalled: true, journalWaitMs: 60_000 }).apply("take", operations);
