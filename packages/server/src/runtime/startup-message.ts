import type { Settings } from "../config/settings.ts";
import type { RunningNode } from "./serve.ts";
import { version } from "./version.ts";

const RULE = { rule_id: "hello", name: "Hello", dimension: "user", endpoint_pattern: "/hello", limit: 5 };
const ASKED = { identifier: "alice", dimension: "user", endpoint: "/hello" };

/** What a node says once it is ready, for people: where it is, who may ask, and what to try next. */
export function welcome(node: RunningNode, settings: Settings, firstKeyFile?: string): string {
  const { firstKey, rules } = node;
  return [
    `headgate ${version} is ready`,
    `  REST  ${node.url}  (a page to try it: ${node.url}/docs)`,
    ...(node.grpcAddress === undefined ? [] : [`  gRPC  ${node.grpcAddress}`]),
    `  ${homes(settings)}`,
    ...(node.store === "unreachable"
      ? [`  ${sharedStore(settings)} cannot be reached: rules do what on_error says`]
      : []),
    ...(node.store === "partial"
      ? [`  a part of ${sharedStore(settings)} cannot be used: for its keys, rules do what on_error says`]
      : []),
    ...firstKeyLines(),
    "",
    ...(rules > 0
      ? ["Try:"]
      : ["There are no rules yet, so nothing is limited. Create a rule of 5 requests a minute, then send a check:"]),
    ...(rules > 0 || settings.rules !== undefined
      ? []
      : [`  ${curl("/api/v1/rules", { ...RULE, window_seconds: 60 })}`]),
    `  ${curl("/api/v1/check", ASKED)}`,
    "",
  ].join("\n");

  function curl(path: string, body: object): string {
    const ca = settings.tls === undefined ? "" : "-k ";
    return `curl -i ${ca}${node.url}${path} -H "Authorization: Bearer ${keyText()}" -H "Content-Type: application/json" -d '${JSON.stringify(body)}'`;
  }

  function firstKeyLines(): string[] {
    if (firstKey === undefined) return [];
    if (firstKeyFile === undefined)
      return ["", "This key may do everything. It is shown once, so keep it:", `  ${firstKey}`];
    return ["", "The first admin key is in this file. Store it elsewhere, then remove the file:", `  ${firstKeyFile}`];
  }

  /** In words that work when they are pasted, if that can be. */
  function keyText(): string {
    if (firstKeyFile !== undefined) return `$(cat '${firstKeyFile.replaceAll("'", "'\\''")}')`;
    if (firstKey !== undefined) return firstKey;
    return settings.adminKey === undefined ? "YOUR_KEY" : "$HEADGATE_ADMIN_KEY";
  }
}

function homes(settings: Settings): string {
  const { postgres, rules, data } = settings;
  const database = postgres === undefined ? data : "PostgreSQL";
  return `counters in ${sharedStore(settings) ?? "memory"}, rules in ${rules ?? database}`;
}

function sharedStore({ redis, zookeeper }: Settings): string | undefined {
  return redis === undefined ? zookeeper && "ZooKeeper" : "Redis";
}
