import { Redis } from "ioredis";
import { soakRules } from "../rules.ts";
import type { SoakTransport } from "../transports.ts";

/** `HG.CHECK`, which names a rule instead of an endpoint and has no idempotency keys. */
export const resp: SoakTransport = {
  name: "resp",
  flags: () => ["--resp", "127.0.0.1:0"],
  hasIdempotencyKeys: false,
  connect(node) {
    const { resp: address } = node.log.find(({ msg }) => msg === "ready") ?? {};
    const [, host, port] = /([\d.]+):(\d+)$/.exec(String(address)) ?? [];
    const client = new Redis({
      host,
      port: Number(port),
      password: node.key,
      autoResendUnfulfilledCommands: false,
      // Otherwise ioredis never settles calls whose connection was closed.
      maxRetriesPerRequest: 0,
    });
    // Each call reports its own failure.
    client.on("error", () => {});
    return {
      async check({ identifier, endpoint, cost }) {
        const rule = soakRules.find((each) => each.endpoint === endpoint);
        const reply = await client.call("HG.CHECK", rule?.id ?? "", identifier, "COST", String(cost));
        const { allowed, remaining, reset_at_ms, degraded } = fieldsOf(reply);
        if (allowed === undefined || reset_at_ms === undefined)
          throw new Error(`an unknown answer: ${JSON.stringify(reply)}`);
        return {
          allowed: isTrue(allowed),
          remaining: Number(remaining),
          resetAtMs: Number(reset_at_ms),
          degraded: isTrue(degraded),
        };
      },
      close: () => client.disconnect(),
    };
  },
};

/** In RESP2 a map is a list of names and values. */
function fieldsOf(reply: unknown): Record<string, unknown> {
  const list: unknown[] = Array.isArray(reply) ? reply : [];
  const pairs = list.flatMap((name, i) => (i % 2 === 0 ? [[String(name), list[i + 1]]] : []));
  return Object.fromEntries(pairs);
}

function isTrue(value: unknown): boolean {
  return value === 1 || value === "1" || value === "true";
}
