import { fixedWindow } from "headgate";

/** A rule of the soak. All have fixed windows, so that an answer tells which window it counts in. */
export interface SoakRule {
  readonly id: string;
  readonly endpoint: string;
  readonly limit: number;
  readonly onError: "local" | "deny";
  readonly consistency: "strict" | "cached" | "leased";
}

export const WINDOW_SECONDS = 5;

export const soakRules: readonly SoakRule[] = [
  { id: "strict", endpoint: "/strict", limit: 20, onError: "local", consistency: "strict" },
  { id: "login", endpoint: "/login", limit: 5, onError: "deny", consistency: "strict" },
  { id: "leased", endpoint: "/leased", limit: 200, onError: "deny", consistency: "leased" },
  { id: "cached", endpoint: "/cached", limit: 50, onError: "local", consistency: "cached" },
];

/** As the REST API takes it. */
export function ruleBody({ id, endpoint, limit, onError, consistency }: SoakRule): object {
  return {
    rule_id: id,
    name: id,
    dimension: "user",
    endpoint_pattern: endpoint,
    algorithm: fixedWindow("1/s").algorithm,
    limit,
    window_seconds: WINDOW_SECONDS,
    on_error: onError,
    consistency,
  };
}
