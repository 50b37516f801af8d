import type { RedisServer } from "headgate-testkit/redis-server";

/** Moves a slot of a cluster from one master to another, step by step. */
export async function moveSlot(slot: number, from: RedisServer, to: RedisServer) {
  const [source, target] = await Promise.all([from.ask("CLUSTER", "MYID"), to.ask("CLUSTER", "MYID")]);
  const name = String(slot);
  const migrate = (names: readonly string[]) =>
    from.ask("MIGRATE", "127.0.0.1", String(to.port), "", "0", "5000", "KEYS", ...names);
  return {
    async open() {
      await to.ask("CLUSTER", "SETSLOT", name, "IMPORTING", source);
      await from.ask("CLUSTER", "SETSLOT", name, "MIGRATING", target);
    },
    migrate,
    async migrateAll() {
      for (;;) {
        const names = await from.ask("CLUSTER", "GETKEYSINSLOT", name, "100");
        if (names === "") return;
        await migrate(names.split("\n"));
      }
    },
    async close() {
      for (const node of [to, from]) await node.ask("CLUSTER", "SETSLOT", name, "NODE", target);
    },
  };
}
