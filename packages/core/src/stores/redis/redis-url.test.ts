import { describe, expect, it } from "vitest";
import { HeadgateError } from "../../errors.ts";
import { parseRedisAddress, redactRedisUrl } from "./redis-url.ts";

const none = {
  username: undefined,
  password: undefined,
  database: 0,
  master: undefined,
  sentinelUsername: undefined,
  sentinelPassword: undefined,
  tls: undefined,
};
const tls = { ca: undefined, cert: undefined, key: undefined };

describe("the address of a Redis", () => {
  it.each<[string, object]>([
    ["redis://h", { kind: "server", hosts: [{ host: "h", port: 6379 }] }],
    ["REDIS://h:1/", { kind: "server", hosts: [{ host: "h", port: 1 }] }],
    ["redis://[::1]:7000/3", { kind: "server", hosts: [{ host: "::1", port: 7000 }], database: 3 }],
    [
      "rediss://ann:p%40ss@h:1",
      { kind: "server", hosts: [{ host: "h", port: 1 }], username: "ann", password: "p@ss", tls },
    ],
    ["redis://:a,b:c@h", { kind: "server", hosts: [{ host: "h", port: 6379 }], password: "a,b:c" }],
    [
      "rediss://h?tls_ca=/a%20b.pem&tls_cert=c&tls_key=k",
      { kind: "server", hosts: [{ host: "h", port: 6379 }], tls: { ca: "/a b.pem", cert: "c", key: "k" } },
    ],
  ])("%s is one server", (text, address) => {
    expect(parseRedisAddress(text)).toEqual({ ...none, ...address });
  });

  it.each([
    "redis://:pw@a:1,redis://:pw@b:2",
    "redis://:pw@a:1, redis://b:2",
    "redis://:pw@a:1,b:2",
    "redis+cluster://:pw@a:1,b:2",
    "redis+cluster://:pw@a:1,redis+cluster://:pw@b:2",
  ])("%s is a cluster", (text) => {
    const hosts = [
      { host: "a", port: 1 },
      { host: "b", port: 2 },
    ];
    expect(parseRedisAddress(text)).toEqual({ ...none, kind: "cluster", hosts, password: "pw" });
  });

  it("may be a cluster of which one node is named", () => {
    const hosts = [{ host: "a", port: 6379 }];
    expect(parseRedisAddress("rediss+cluster://a")).toEqual({ ...none, kind: "cluster", hosts, tls });
  });

  it("may be a master that sentinels watch, with passwords for both", () => {
    expect(
      parseRedisAddress("redis+sentinel://ann:pw@a,b:2/my%20master/4?sentinel_username=s&sentinel_password=p%26q"),
    ).toEqual({
      ...none,
      kind: "sentinel",
      hosts: [
        { host: "a", port: 26379 },
        { host: "b", port: 2 },
      ],
      username: "ann",
      password: "pw",
      master: "my master",
      database: 4,
      sentinelUsername: "s",
      sentinelPassword: "p&q",
    });
  });

  it.each<[string, RegExp]>([
    ["", /must be a URL as in redis:/],
    ["s3cret", /must be a URL/],
    ["http://:s3cret@h", /must be a URL/],
    ["redis://:s3cret@", /must be a URL/],
    ["redis://:s3cret@h:port", /a port from 1 to 65535/],
    ["redis://:s3cret@h:0", /a port from 1 to 65535/],
    ["redis://:s3cret@h:65536", /a port from 1 to 65535/],
    ["redis://:s3cret@h:1,,h:2", /a port from 1 to 65535/],
    ["redis://:s3cret@[::1", /a port from 1 to 65535/],
    ["redis://:s3cret@h/a", /number of a database/],
    ["redis://:s3cret@h/1/2", /number of a database/],
    ["redis://:s3cret%@h", /is not an escape/],
    ["redis://:s3cret@h?family=6", /unknown parameter family/],
    ["redis://:s3cret@h?tls_ca=x", /unknown parameter tls_ca/],
    ["redis://:s3cret@h?sentinel_password=s3cret", /unknown parameter sentinel_password/],
    ["redis://:s3cret@a:1,b:2/1", /only database 0/],
    ["redis+cluster://:s3cret@a/1", /only database 0/],
    ["redis://:s3cret@a,rediss://:s3cret@b", /the same scheme/],
    ["redis://:s3cret@a,redis+cluster://:s3cret@b", /the same scheme/],
    ["redis://:s3cret@a,redis://:other@b", /the same user and password/],
    ["redis://:s3cret@a/1,redis://b/2", /the same database/],
    ["redis+sentinel://:s3cret@a", /must name the master/],
    ["redis+sentinel://:s3cret@a/m,redis+sentinel://b/m", /sentinels in one URL/],
  ])("refuses %s without quoting it", (text, message) => {
    const refused = (): unknown => parseRedisAddress(text, "--redis");
    expect(refused).toThrow(HeadgateError);
    expect(refused).toThrow(expect.objectContaining({ code: "HG_BAD_OPTION", field: "--redis" }));
    expect(refused).toThrow(message);
    expect(refused).not.toThrow(/s3cret/);
  });
});

describe("the address of a Redis for people to read", () => {
  it.each([
    ["redis://ann:s3cret@h:1/2", "redis://ann:***@h:1/2"],
    ["redis://:s3@cret@h", "redis://:***@h"],
    ["redis://ann@h", "redis://ann@h"],
    ["redis://:s3cret@a, redis://:s3cret@b", "redis://:***@a,redis://:***@b"],
    ["redis+cluster://:s3,cret@a,b:1", "redis+cluster://:***@a,b:1"],
    [
      "rediss+sentinel://:s3cret@a/m?sentinel_password=s3cret&tls_ca=x",
      "rediss+sentinel://:***@a/m?sentinel_password=***&tls_ca=x",
    ],
  ])("%s", (text, shown) => {
    expect(redactRedisUrl(text)).toBe(shown);
  });
});
