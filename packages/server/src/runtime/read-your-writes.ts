import type { KeyRing } from "../access/key-ring.ts";
import type { Database, KeyTable, RuleTable } from "../database/database.ts";
import type { RulesInForce } from "./active-rules.ts";

/**
 * The database for the admin API: when a change is acknowledged, it is in force on this node. `refreshOthers` reaches the
 * other processes of the node, if there are any.
 */
export function settled(
  database: Database,
  rules: RulesInForce,
  keyRing: Pick<KeyRing, "refresh">,
  refreshOthers: () => Promise<void> | undefined = () => undefined,
): Database {
  const afterRules = async <Result>(write: Promise<Result>): Promise<Result> => {
    const result = await write;
    await Promise.all([rules.refresh(), refreshOthers()]);
    return result;
  };
  const afterKeys = async <Result>(write: Promise<Result>): Promise<Result> => {
    const result = await write;
    // The change is done and acknowledged; a failed refresh is retried.
    await Promise.all([keyRing.refresh().catch(() => {}), refreshOthers()]);
    return result;
  };
  const ruleTable: RuleTable = {
    all: () => database.rules.all(),
    list: (page) => database.rules.list(page),
    get: (id) => database.rules.get(id),
    create: (...args) => afterRules(database.rules.create(...args)),
    update: (...args) => afterRules(database.rules.update(...args)),
    remove: (...args) => afterRules(database.rules.remove(...args)),
    replace: (...args) => afterRules(database.rules.replace(...args)),
  };
  const keyTable: KeyTable = {
    all: () => database.keys.all(),
    add: (...args) => afterKeys(database.keys.add(...args)),
    revoke: (...args) => afterKeys(database.keys.revoke(...args)),
  };
  return { ...database, rules: ruleTable, keys: keyTable };
}
