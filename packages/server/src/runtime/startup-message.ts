import { configuredStores } from "../checks/shared-stores.ts";
import type { Settings } from "../config/settings.ts";
import { transportNames, transports } from "../transports/registry.ts";
import type { RunningNode } from "./serve.ts";
import { version } from "./version.ts";

/** What a node reports once it is ready. */
export type ReadyNode = Pick<RunningNode, "url" | "addresses" | "firstKey" | "rules" | "store">;

const RULE = { rule_id: "hello", name: "Hello", dimension: "user", endpoint_pattern: "/hello", limit: 5 };
const ASKED = { identifier: "alice", dimension: "user", endpoint: "/hello" };

/** The summary that a node prints once it is ready: addresses, the first key, and what to try next. */
export function welcome(node: ReadyNode, settings: Settings, firstKeyFile?: string): string {
  const { firstKey, rules } = node;
  return [
    `headgate ${version} is ready`,
    `  REST  ${node.url}  (dashboard at ${node.url}/)`,
    ...transportNames.flatMap((name) => {
      const address = node.addresses[name];
      return address === undefined ? [] : [`  ${transports[name].label}  ${address}`];
    }),
    `  ${homes(settings)}`,
    ...(node.store === "unreachable" ? [`  ${sharedStore(settings)} is unreachable: on_error decides`] : []),
    ...(node.store === "partial"
      ? [`  part of ${sharedStore(settings)} is unavailable: on_error decides for its keys`]
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
    if (firstKeyFile === undefined) return ["", "The first admin key, shown only once:", `  ${firstKey}`];
    return [
      "",
      "The first admin key is in this file. Copy it to a safe place, then delete the file:",
      `  ${firstKeyFile}`,
    ];
  }

  /** The key in a form that works when pasted, if possible. */
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

function sharedStore(settings: Settings): string | undefined {
  return configuredStores(settings)[0]?.label;
}
