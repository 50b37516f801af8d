import { describe, expect, it } from "vitest";
import { parseRules, rulesText } from "../rules-file.ts";
import { importRules } from "./import-rules.ts";

describe("rules from envoyproxy/ratelimit", () => {
  const { rules, notes } = importRules(
    "envoy",
    `domain: edge
descriptors:
  - key: remote_address
    rate_limit: { unit: minute, requests_per_unit: 100 }
  - key: path
    value: /search*
    descriptors:
      - key: user_id
        shadow_mode: true
        rate_limit: { unit: hour, requests_per_unit: 20, algorithm: gcra, burst: 5, name: search }
  - key: generic_key
    value: slow
    rate_limit: { unit: day, requests_per_unit: 7 }
  - { key: method, value: POST, rate_limit: { unit: day, requests_per_unit: 7 } }
  - { key: remote_address, value: 192.0.2.1, rate_limit: { unlimited: true } }
`,
    "edge.yaml",
  );

  it("have path, method, identity, limit and mode", () => {
    expect(rules).toMatchObject([
      {
        rule_id: "edge.remote_address",
        dimension: "ip",
        endpoint_pattern: "/**",
        limit: 100,
        window_seconds: 60,
        algorithm: "fixed_window",
      },
      {
        rule_id: "search",
        dimension: "user",
        endpoint_pattern: "/search/**",
        limit: 20,
        window_seconds: 3600,
        algorithm: "gcra",
        burst: 5,
        mode: "shadow",
      },
    ]);
  });

  it("come with notes about the rest", () => {
    expect(notes).toEqual([
      "edge.yaml:3: edge.remote_address: rules do not count denied requests, as charge: always does",
      expect.stringMatching(/^edge\.yaml:8: edge\.path_\/search\*\.user_id: .* without a slash, as \/search\* does$/),
      "edge.yaml:8: edge.path_/search*.user_id: each path has a counter of its own; the rule counts all that match together",
      expect.stringMatching(/^edge\.yaml:11: edge\.generic_key_slow has no equivalent: .* no generic_key=slow$/),
      expect.stringMatching(/^edge\.yaml:14: edge\.method_POST has no equivalent: it counts all clients together/),
      expect.stringMatching(/^edge\.yaml:15: edge\.remote_address_192\.0\.2\.1 is unlimited/),
    ]);
  });

  it("are a valid rules file", () => {
    expect(parseRules(rulesText(rules), "rules.yaml")).toEqual(rules);
  });

  it("come without such a note if all paths share a counter", () => {
    const text = `domain: edge
descriptors:
  - key: path
    value: /files/*
    share_threshold: true
    descriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 1, charge: if_it_fits } }]`;
    expect(importRules("envoy", text, "edge.yaml")).toMatchObject({
      rules: [{ endpoint_pattern: "/files/**" }],
      notes: [],
    });
  });

  it("are not made from wildcards inside a path", () => {
    const text = `domain: edge
descriptors:
  - { key: path, value: "/files/*/raw", descriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 1 } }] }`;
    expect(importRules("envoy", text, "edge.yaml")).toMatchObject({
      rules: [],
      notes: [
        expect.stringMatching(/^edge\.yaml:3: .* has no equivalent: .* wildcard such as that of \/files\/\*\/raw$/),
      ],
    });
  });

  it("are not made from a file with mistakes", () => {
    expect(() => importRules("envoy", "domain: ''", "edge.yaml")).toThrow("edge.yaml:1:9: domain: must not be empty");
  });
});

describe("rules from Limitador", () => {
  const { rules, notes } = importRules(
    "limitador",
    `- namespace: shop
  max_value: 10
  seconds: 60
  conditions: ["req.method == 'POST'", "req.path == '/orders'"]
  variables: [user_id]
- { namespace: shop, max_value: 5, seconds: 1, variables: ["descriptors[0]['remote_address']"], conditions: [], name: per address }
- { namespace: shop, max_value: 5, seconds: 1, variables: [] }
- { namespace: shop, max_value: 5, seconds: 1, variables: [user_id], conditions: ["plan == 'free'"] }
`,
    "limits.yaml",
  );

  it("have path, method, identity and limit", () => {
    expect(rules).toMatchObject([
      {
        dimension: "user",
        endpoint_pattern: "/orders",
        methods: ["POST"],
        limit: 10,
        window_seconds: 60,
        algorithm: "fixed_window",
      },
      { name: "per address", rule_id: "per-address", dimension: "ip", endpoint_pattern: "/**", limit: 5 },
    ]);
  });

  it("come with notes about the rest", () => {
    expect(notes).toEqual([
      expect.stringMatching(/^limits\.yaml:7: .* it counts all clients together/),
      expect.stringMatching(/^limits\.yaml:8: .* no condition such as plan == 'free'$/),
    ]);
  });
});

describe("rules from nginx", () => {
  const { rules, notes } = importRules(
    "nginx",
    `http {
  limit_req_zone $binary_remote_addr zone=perip:10m rate=10r/s; # a comment {
  limit_req_zone $http_x_api_key zone=perkey:10m rate=30r/m;
  limit_req_zone $server_name zone=all:10m rate=1000r/s;
  server {
    limit_req zone=perip burst=20 nodelay;
    location /login { limit_req zone=perip burst=5; }
    location = /token { limit_req zone=perkey; }
    location ~ \\.php$ { limit_req zone=perip; }
    location /all/ { limit_req zone=all; limit_conn addr 10; }
  }
}
`,
    "nginx.conf",
  );

  it("have the location, the key, and the burst with the request that nginx admits at once", () => {
    expect(rules).toMatchObject([
      { dimension: "ip", endpoint_pattern: "/**", limit: 10, window_seconds: 1, algorithm: "gcra", burst: 21 },
      { dimension: "ip", endpoint_pattern: "/login/**", limit: 10, algorithm: "leaky_bucket", burst: 6 },
      { dimension: "apikey", endpoint_pattern: "/token", limit: 30, window_seconds: 60, algorithm: "gcra", burst: 1 },
    ]);
  });

  it("come with notes about the rest", () => {
    expect(notes).toEqual([
      "nginx.conf:7: zone perip: in nginx, it replaces the limits of the enclosing block; rules apply together",
      "nginx.conf:7: zone perip: its places share a counter in nginx; each rule has its own",
      "nginx.conf:8: zone perkey: in nginx, it replaces the limits of the enclosing block; rules apply together",
      "nginx.conf:9: zone perip has no equivalent: patterns are not regular expressions",
      expect.stringMatching(/^nginx\.conf:10: zone all has no equivalent: it counts by \$server_name/),
      "nginx.conf:10: limit_conn has no equivalent: rules count requests, not connections",
    ]);
  });

  it("are in shadow mode where nginx only logs, and apply to all hosts", () => {
    const text = `include conf.d/*.conf;
limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s;
limit_req_zone $http_x_user zone=b:1m rate=1r/s;
server {
  limit_req_dry_run on;
  location /a { limit_req zone=a; }
}
server { location /b { limit_req zone=b; } }
upstream app { server 127.0.0.1:3000; }`;
    const { rules, notes } = importRules("nginx", text, "nginx.conf");
    expect(rules).toMatchObject([
      { endpoint_pattern: "/a/**", mode: "shadow" },
      { endpoint_pattern: "/b/**", mode: "enforce" },
    ]);
    expect(notes).toEqual([
      "nginx.conf:1: include conf.d/*.conf is not followed",
      "nginx.conf:8: server has no equivalent: rules apply to all hosts",
    ]);
  });
});
