import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { headgate } from "headgate-testkit/headgate-command";
import { afterAll, describe, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "headgate-"));
afterAll(() => rmSync(folder, { recursive: true }));

const A = `{"user": "a", "time": 0}`;
const DECIDED = `{"user": "a", "time": 0.0, "decision": "ALLOW", "remaining": 4.0}\n`;

async function refusal(
  args: readonly string[],
  stdin = "",
): Promise<{ line: string; code: number | null; stdout: string }> {
  const { stdout, stderr, code } = await headgate(args, { stdin, cwd: folder });
  expect(stderr, "one line, no stack").toMatch(/^headgate: [^\n]+\n$/);
  return { line: stderr.slice("headgate: ".length, -1), code, stdout };
}

type Case = [stdin: string, message: RegExp, stdout?: string];

function titled(cases: Case[]): [title: string, ...Case][] {
  return cases.map((row) => [JSON.stringify(row[0].slice(0, 100)), ...row]);
}

describe("the command line", () => {
  test.concurrent.each<[string[], RegExp, number?]>([
    [["chekc"], /unknown command 'chekc' \(Did you mean check\?\)/],
    [["--nope"], /unknown option '--nope'/],
    [["check", "--usr", "a"], /unknown option '--usr' \(Did you mean --user\?\)/],
    [["check"], /^--user: is required/],
    [["check", "--user"], /'--user <id>' argument missing/],
    [["check", "--user", "--time", "5"], /^--user: needs a value \(.* --user=--time\)/],
    [["check", "--user", "a", "--config", "--fail-on-deny"], /^--config: needs a value/],
    [["scenario", "--file", "--fail-on-deny"], /^--file: needs a value/],
    [["check", "--user", ""], /^--user: must not be empty/],
    [["check", "--user="], /^--user: must not be empty/],
    [["check", "--user", "a", "b"], /too many arguments/],
    [["check", "--user", "a", "--time", "abc"], /^--time: must be a number of seconds, got "abc"/],
    [["check", "--user", "a", "--time", ""], /^--time: /],
    [["check", "--user", "a", "--time", "NaN"], /^--time: /],
    [["check", "--user", "a", "--time", "Infinity"], /^--time: /],
    [["check", "--user", "a", "--time", "0x10"], /^--time: /],
    [["check", "--user", "a", "--time", "1e300"], /^--time: must be .* within 9007199254/],
    [["check", "--user", "a", "--time", "\u001b[31m\n"], /^--time: .*"\\u001b\[31m\\n"/],
    [["check", "--user", "a", "--config", ""], /^--config: must not be empty/],
    [["check", "--user", "a", "--config", "nope.json"], /^nope\.json: no such file/, 2],
    [["check", "--user", "a", "--config", "."], /^\.: is a directory/],
    [["scenario"], /^--file: is required/],
    [["scenario", "--file", ""], /^--file: must not be empty/],
    [["scenario", "--file", "nope.json"], /^nope\.json: no such file/, 2],
    [["scenario", "--file", "."], /^\.: is a directory/],
    [["scenario", "--file", "-", "--fial-on-deny"], /Did you mean --fail-on-deny\?/],
    [["completion"], /missing required argument 'shell'/],
    [["completion", "tcsh"], /'tcsh' is invalid .* bash, zsh, fish/],
    [["help", "nope"], /'nope' is invalid .* check, scenario/],
  ])("%j", async (args, message, code = 1) => {
    expect(await refusal(args)).toEqual({ line: expect.stringMatching(message), code, stdout: "" });
  });
});

describe("the text of a scenario", () => {
  test.concurrent.each(
    titled([
      ["", /^standard input: line 1, column 1: unexpected end of JSON/],
      ["[]", /line 1, column 1: expected an object: "\{", found "\["/],
      ["nope", /line 1, column 1: expected an object/],
      [
        `{\n  "requests": [\n    {"user": "a", "time": 0,}\n  ]\n}`,
        /line 3, column 29: expected a name in quotes, found "}"/,
      ],
      [`{"config": {},\r\n\t"requests": [{"user" "a"}]}`, /line 2, column 23: expected ":", found "\\""/],
      [`{"config": {}, "requests": [${A} ${A}]}`, /column 54: expected "," or "\]", found "\{"/, DECIDED],
      [`{"config": {}, "requests": [${A}`, /column 53: unexpected end of JSON/, DECIDED],
      [`{"config": {}, "requests": [${A}]`, /column 54: unexpected end of JSON/, DECIDED],
      [`{"config": {}, "requests": [${A}]} x`, /column 56: expected nothing more, found "x"/, DECIDED],
      [`{"config": {}, "requests": [{"user": "😀", "time": nul}]}`, /column 54: expected null, found "}"/],
      [`{"config": {}, "requests": [{"user": "a\u0001"}]}`, /column 40: expected the string to be closed/],
      [`{"config": {}, "requests": ${"[".repeat(100_000)}`, /nested deeper than 500 levels/],
      [`{"config": {"users": ${`{"a":`.repeat(100_000)}`, /nested deeper than 500 levels/],
    ]),
  )("%s", async (_title, stdin, message, stdout = "") => {
    const line = expect.stringMatching(message);
    expect(await refusal(["scenario", "--file", "-"], stdin)).toEqual({ line, code: 1, stdout });
  });

  test("bytes that are not UTF-8", async () => {
    const file = join(folder, "latin1.json");
    writeFileSync(file, Buffer.from(`{"config": {},\n "requests": [{"user": "\xe9", "time": 0}]}`, "latin1"));
    const { line, code } = await refusal(["scenario", "--file", file]);
    expect({ line, code }).toEqual({
      line: expect.stringMatching(/line 2, column 25: expected UTF-8 text/),
      code: 1,
    });
  });
});

describe("the fields of a scenario", () => {
  test.concurrent.each(
    titled([
      [`{}`, /^requests: is missing/],
      [`{"config": {}}`, /^requests: is missing/],
      [`{"config": {}, "requests": {}}`, /^requests: must be an array/],
      [`{"confg": {}, "requests": []}`, /^confg: is not a field of a scenario \(known: config, requests\)/],
      [`{"requests": [${A}], "confg": {}}`, /^confg: is not a field/],
      [`{"requests": [], "requests": []}`, /^requests: appears twice/],
      [`{"config": {}, "config": {}, "requests": []}`, /^config: appears twice/],
      [`{"config": [], "requests": []}`, /^config: must be an object/],
      [`{"config": null, "requests": []}`, /^config: must be an object/],
      [`{"config": {"user": {}}, "requests": []}`, /^config\.user: is not a field of config/],
      [`{"config": {"users": []}, "requests": []}`, /^config\.users: must be an object/],
      [`{"config": {"default": 5}, "requests": []}`, /^config\.default: must be an object/],
      [
        `{"config": {"default": {"capacity": 0, "refill_rate": 1}}, "requests": []}`,
        /^config\.default\.capacity: must be/,
      ],
      [`{"config": {"default": {"capacity": 1}}, "requests": []}`, /^config\.default\.refill_rate: must be/],
      [
        `{"config": {"default": {"capacity": 1e999, "refill_rate": 1}}, "requests": []}`,
        /^config\.default\.capacity: /,
      ],
      [
        `{"config": {"default": {"algorithm": "magic"}}, "requests": []}`,
        /^config\.default\.algorithm: must be one of/,
      ],
      [
        `{"config": {"users": {"al": {"algorithm": "gcra", "limit": 1.5, "window": 1}}}, "requests": []}`,
        /^config\.users\.al\.limit: /,
      ],
      [
        `{"config": {"users": {"a.b\\n": {"limit": 1, "window": 0}}}, "requests": []}`,
        /^config\.users\["a\.b\\n"\]\.window: /,
      ],
      [`{"config": {}, "requests": [5]}`, /^requests\[0\]: must be an object/],
      [`{"config": {}, "requests": [${A}, []]}`, /^requests\[1\]: must be an object/, DECIDED],
      [`{"config": {}, "requests": [${A}, {"time": 0}]}`, /^requests\[1\]\.user: must be/, DECIDED],
      [`{"config": {}, "requests": [{"user": "", "time": 0}]}`, /^requests\[0\]\.user: must be/],
      [`{"config": {}, "requests": [{"user": 5, "time": 0}]}`, /^requests\[0\]\.user: must be/],
      [`{"config": {}, "requests": [{"user": "a"}]}`, /^requests\[0\]\.time: must be/],
      [`{"config": {}, "requests": [{"user": "a", "time": "0"}]}`, /^requests\[0\]\.time: must be/],
      [`{"config": {}, "requests": [{"user": "a", "time": 1e999}]}`, /^requests\[0\]\.time: must be/],
      [
        `{"config": {}, "requests": [${A}, {"user": "a", "time": 0, "cost": -1}]}`,
        /^requests\[1\]\.cost: must be/,
        DECIDED,
      ],
      [`{"config": {}, "requests": [{"user": "a", "time": 0, "cost": 1.5}]}`, /^requests\[0\]\.cost: must be/],
      [`{"config": {}, "requests": [{"user": "a", "time": 0, "cost": null}]}`, /^requests\[0\]\.cost: must be/],
      [`{"config": {}, "requests": [{"user": "a", "time": 0, "cost": "1"}]}`, /^requests\[0\]\.cost: must be/],
      [
        `{"config": {}, "requests": [{"user": "a", "time": 0, "cost": 9007199254740992}]}`,
        /^requests\[0\]\.cost: must be/,
      ],
      [`{"config": {}, "requests": [{"user": "a", "tiem": 0}]}`, /^requests\[0\]\.tiem: is not a field of a request/],
      [`{"requests": [${A}, {"user": "a", "time": "x"}]}`, /^requests\[1\]\.time: must be/, DECIDED],
    ]),
  )("%s", async (_title, stdin, message, stdout = "") => {
    const line = expect.stringMatching(message);
    expect(await refusal(["scenario", "--file", "-"], stdin)).toEqual({ line, code: 1, stdout });
  });
});

describe("a config file", () => {
  test.concurrent.each<[string, RegExp]>([
    ["[]", /line 1, column 1: expected an object/],
    [`{"default": {"capacity": 5, "refill_rate": 1}`, /column 46: unexpected end of JSON/],
    [`{"default": {"capacity": -1, "refill_rate": 1}}`, /^config\.default\.capacity: /],
    [`{"defualt": {}}`, /^defualt: is not a field of a config or a scenario/],
    [`{"config": {}, "users": {}}`, /^users: must be inside config/],
    [`{"config": {}, "requests": [x]}`, /column 29: expected a value, found "x"/],
  ])("%s", async (stdin, message) => {
    const refused = await refusal(["check", "--user", "a", "--config", "-"], stdin);
    expect(refused).toEqual({ line: expect.stringMatching(message), code: 1, stdout: "" });
  });
});
