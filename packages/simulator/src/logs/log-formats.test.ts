import { describe, expect, it } from "vitest";
import type { FieldMapping, LineRequest } from "./log-format.ts";
import { detectFormat, formatNamed } from "./log-formats.ts";

const NGINX = [
  '203.0.113.7 - - [10/Oct/2025:13:55:36 +0200] "GET /api/v1/orders?page=2 HTTP/1.1" 200 2326 "https://example.com/" "Mozilla/5.0"',
  '2001:db8::1 - alice [10/Oct/2025:13:55:37 +0200] "POST /login HTTP/2.0" 302 0 "-" "curl/8.5.0"',
  String.raw`198.51.100.2 - bob smith [10/Oct/2025:13:55:37 +0200] "GET /a\" b HTTP/1.1" 404 153 "-" "say \"hi\""`,
  '198.51.100.3 - - [10/Oct/2025:13:55:38 +0200] "GET /old" 200 17',
  '198.51.100.4 - - [10/Oct/2025:13:55:38 +0200] "GET http://example.com/proxied?x HTTP/1.1" 200 17 "-" "-"',
];
const TIME = Date.UTC(2025, 9, 10, 11, 55, 36) * 1000;

function read(format: string, lines: readonly string[], mapping: FieldMapping = {}): unknown[] {
  const parser = formatNamed(format).open(mapping);
  return lines.map((line) => {
    const into: LineRequest = { time: 0, key: "", path: "", method: "", cost: 1 };
    // In the middle of a text, as in a file.
    const text = `before "x" [y]\n${line}\nafter "x" [y]`;
    const result = parser.read(text, 15, 15 + line.length, into);
    return result === undefined ? into : result;
  });
}

describe("the combined format", () => {
  it("is read", () => {
    expect(read("combined", NGINX)).toEqual([
      { time: TIME, key: "203.0.113.7", method: "GET", path: "/api/v1/orders", cost: 1 },
      { time: TIME + 1_000_000, key: "2001:db8::1", method: "POST", path: "/login", cost: 1 },
      { time: TIME + 1_000_000, key: "198.51.100.2", method: "GET", path: String.raw`/a\" b`, cost: 1 },
      { time: TIME + 2_000_000, key: "198.51.100.3", method: "GET", path: "/old", cost: 1 },
      { time: TIME + 2_000_000, key: "198.51.100.4", method: "GET", path: "/proxied", cost: 1 },
    ]);
  });

  it.each([
    ["", "has no time"],
    ["GET / HTTP/1.1", "has no time"],
    ['1.2.3.4 - - [10/Oct/2025:13:55:36 +0200] "-" 400 0 "-" "-"', "has no method"],
    [String.raw`1.2.3.4 - - [10/Oct/2025:13:55:36 +0200] "\x16\x03\x01" 400 157 "-" "-"`, "has no method"],
    ['1.2.3.4 - - [10/Foo/2025:13:55:36 +0200] "GET / HTTP/1.1" 200 1', "has no time such as"],
    ['1.2.3.4 - - [10/Oct/2025:13:55:36] "GET / HTTP/1.1" 200 1', "has no request line"],
    ['1.2.3.4 - - [10/Oct/2025:13:55:36 +0200] "GET / HTTP/1.1', "has no end"],
    ['1.2.3.4 - - [10/Oct/2025:13:55:36 +0200] "GET /cut', "has no end"],
  ])("is not what this line has: %j", (line, problem) => {
    expect(read("combined", [line])).toEqual([expect.stringContaining(problem)]);
  });

  it.each([
    [{ key: "remote_user" }, ["key: remote_user is empty", "alice", "bob smith"], "key"],
    [{ key: "http_user_agent" }, ["Mozilla/5.0", "curl/8.5.0", String.raw`say \"hi\"`], "key"],
    [{ cost: "body_bytes_sent" }, [2326, 0, 153], "cost"],
    [{ cost: "http_referer" }, expect.arrayContaining([expect.stringContaining("not a whole number")]), "cost"],
  ])("takes other fields: %j", (mapping, values, field) => {
    const found = read("combined", NGINX.slice(0, 3), mapping);
    expect(found.map((each) => (typeof each === "string" ? each : Object(each)[field]))).toEqual(values);
  });

  it.each([[{ key: "nobody" }], [{ cost: "weight" }], [{ time: "msec" }], [{ path: "uri" }]])(
    "has no field %j",
    (mapping) => {
      expect(() => formatNamed("combined").open(mapping)).toThrow(/^(key|cost|time|path): /);
    },
  );
});

const CLOUDFRONT = [
  "#Version: 1.0",
  "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query",
  "2025-10-10\t11:55:36\tFRA56-P2\t1045\t203.0.113.7\tGET\td111.cloudfront.net\t/index.html\t200\t-\tMozilla/5.0%20(X11)\t-",
  "2025-10-10\t11:55:37\tFRA56-P2\t15\t2001:db8::1\tPOST\td111.cloudfront.net\t/api%2520x\t200\t-\tcurl\ta=b",
];

const CADDY = [
  '{"level":"info","ts":1760097336.25,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"203.0.113.7","remote_port":"53412","client_ip":"198.51.100.9","proto":"HTTP/2.0","method":"GET","host":"example.com","uri":"/api/v1/orders?page=2","headers":{"X-User":["alice"]}},"status":200}',
];

const ENVOY = [
  '{"start_time":"2025-10-10T11:55:36.123Z","method":"GET","path":"/api/v1/orders?x=1","protocol":"HTTP/1.1","response_code":200,"downstream_remote_address":"203.0.113.7:51234","x_forwarded_for":"-","bytes_sent":"17"}',
];

const JSON_LINES = [
  '{"timestamp":"2025-10-10T11:55:36.123456+00:00","user":"alice","path":"/v1/chat","method":"POST","tokens":850}',
  '{"ts":1760097337123,"ip":"203.0.113.7","url":"https://example.com/v1/chat?x=1"}',
  '{"time":1760097337123456,"key":42}',
];

const CSV = [
  "time;user_id;path;units",
  '2025-10-10 11:55:36;"a ""quoted"" name; with a semicolon";/x?y;2',
  "2025-10-10 11:55:37.5;bob;/z;3",
];

describe("other formats", () => {
  it("CloudFront", () => {
    expect(read("cloudfront", CLOUDFRONT)).toEqual([
      "",
      "",
      { time: TIME, key: "203.0.113.7", method: "GET", path: "/index.html", cost: 1 },
      { time: TIME + 1_000_000, key: "2001:db8::1", method: "POST", path: "/api%2520x", cost: 1 },
    ]);
    expect(read("cloudfront", CLOUDFRONT, { key: "cs(User-Agent)", cost: "sc-bytes" })[2]).toMatchObject({
      key: "Mozilla/5.0 (X11)",
      cost: 1045,
    });
    expect(read("cloudfront", CLOUDFRONT.slice(2))).toEqual([
      "comes before the line #Fields",
      "comes before the line #Fields",
    ]);
    expect(read("cloudfront", [...CLOUDFRONT.slice(0, 2), "2025-10-10\t11:55:36\tcut"])[2]).toMatch(/^key: is missing/);
  });

  it("Caddy", () => {
    const expected = { time: TIME + 250_000, method: "GET", path: "/api/v1/orders", cost: 1 };
    expect(read("caddy", CADDY)).toEqual([{ ...expected, key: "198.51.100.9" }]);
    expect(read("caddy", CADDY, { key: "request.headers.X-User.0" })).toEqual([{ ...expected, key: "alice" }]);
    expect(read("caddy", ['{"level":"info","ts":1760097336.25,"msg":"started"}'])).toEqual(["path: is missing"]);
  });

  it("Envoy", () => {
    const [line] = read("envoy", ENVOY);
    expect(line).toEqual({
      time: TIME + 123_000,
      key: "203.0.113.7:51234",
      method: "GET",
      path: "/api/v1/orders",
      cost: 1,
    });
    expect(read("envoy", ENVOY, { cost: "bytes_sent" })).toMatchObject([{ cost: 17 }]);
  });

  it("JSON lines", () => {
    expect(read("json", JSON_LINES)).toEqual([
      { time: TIME + 123_456, key: "alice", method: "POST", path: "/v1/chat", cost: 1 },
      { time: TIME + 1_123_000, key: "203.0.113.7", method: "", path: "/v1/chat", cost: 1 },
      { time: TIME + 1_123_456, key: "42", method: "", path: "/", cost: 1 },
    ]);
    expect(read("json", JSON_LINES, { cost: "tokens" })).toMatchObject([
      { cost: 850 },
      expect.stringMatching(/^cost: /),
      expect.stringMatching(/^cost: /),
    ]);
  });

  it.each([
    ["{", "is not valid JSON"],
    ["[]", "is not a JSON object"],
    ["null", "is not a JSON object"],
    ['{"key":"a"}', "time: is missing"],
    ['{"time":"yesterday","key":"a"}', 'time: is not a time: "yesterday"'],
    ['{"time":1,"key":{}}', "key: is not a text: {}"],
    ['{"time":1,"key":"-"}', 'key: is empty: "-"'],
    ['{"time":1,"__proto__":{"key":"a"}}', "key: is missing"],
  ])("JSON lines do not have %s", (line, problem) => {
    expect(read("json", [line])).toEqual([problem]);
  });

  it("CSV", () => {
    expect(read("csv", CSV, { cost: "units" })).toEqual([
      "",
      { time: TIME, key: 'a "quoted" name; with a semicolon', method: "", path: "/x", cost: 2 },
      { time: TIME + 1_500_000, key: "bob", method: "", path: "/z", cost: 3 },
    ]);
    expect(read("csv", [...CSV, "2025-10-10 11:55:38;bob"], { cost: "units" })[3]).toBe(
      'cost: is not a whole number: ""',
    );
    expect(() => read("csv", CSV, { cost: "weight" })).toThrow(
      "cost: the header has none of weight (time, user_id, path, units)",
    );
  });

  it.each([
    ["combined", NGINX, {}],
    ["cloudfront", CLOUDFRONT, {}],
    ["caddy", CADDY, {}],
    ["envoy", ENVOY, {}],
    ["json", JSON_LINES, {}],
    ["json", ['{"at":1760097337123,"account":"a"}'], { time: "at", key: "account" }],
    ["csv", CSV, {}],
    ["csv", ["at,account", "1760097337,a"], { time: "at", key: "account" }],
    ["combined", ["garbage", ...NGINX], {}],
    ["cloudfront", ["#Version: 1.0", "#Fields: date time c-ip cs-method cs-uri-stem"], {}],
    ["csv", ["time,key,path", ""], {}],
  ])("%s is detected", (name, lines, mapping) => {
    expect(detectFormat(lines, mapping)?.name).toBe(name);
  });

  it("text that is not a log is not recognized as one", () => {
    expect(detectFormat(["Lorem ipsum", "dolor, sit amet", "{}"])).toBeUndefined();
    expect(detectFormat([])).toBeUndefined();
    expect(detectFormat(["", " "])).toBeUndefined();
  });

  it("a format that does not exist is refused", () => {
    expect(() => formatNamed("apache")).toThrow(
      'format: must be one of combined, cloudfront, caddy, envoy, json, csv, got "apache"',
    );
  });
});
