import { expect, it } from "vitest";
import { RulesFileError } from "../rules/rules-file-error.ts";
import { makeLog } from "./log.ts";
import { logText } from "./log-text.ts";

const settings = { logLevel: "info", adminKey: undefined, redis: undefined, postgres: undefined };

function text(write: (log: ReturnType<typeof makeLog>) => void, withColours = false): string {
  let written = "";
  write(
    makeLog(settings, (line) => {
      written += logText(line, withColours);
    }),
  );
  return written;
}

it("is a line with the time, the level, the message and the fields", () => {
  const line = text((log) => log.info({ http: "http://127.0.0.1:8080", rules: 3, note: "two words" }, "ready"));
  expect(line).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} INFO {2}ready http=http:\/\/127\.0\.0\.1:8080 rules=3 note="two words"\n$/,
  );
});

it("has the message of an error that has a code, and the stack of one that is unexpected", () => {
  const expected = Object.assign(new Error("connection refused"), { code: "ECONNREFUSED" });
  expect(text((log) => log.error({ err: expected }, "the database is gone"))).toMatch(
    /ERROR the database is gone\n {2}connection refused\n$/,
  );
  expect(text((log) => log.error({ err: new Error("oops") }, "a call failed"))).toMatch(
    /ERROR a call failed\n {2}Error: oops\n {6}at /,
  );
});

it("has the message of a rules file that cannot be used, without a stack", () => {
  const problem = { line: 2, column: 5, field: "rules[0].limit", problem: "must be a number" };
  const line = text((log) => log.error({ err: new RulesFileError("rules.yaml", [problem]) }, "the file is bad"));
  expect(line).toMatch(/ERROR the file is bad\n {2}rules\.yaml:2:5: rules\[0\]\.limit: must be a number\n$/);
});

it("shows control characters of logged values, and does not send them to the terminal", () => {
  const evil = "a\u001b[2J\u0007b\u009bc\u007f\u2028d\u202ee";
  const shown = "a\\u001b[2J\\u0007b\\u009bc\\u007f\\u2028d\\u202ee";
  const failure = Object.assign(new Error(`${evil}\nnext`), { code: "E" });
  const line = text((log) => {
    log.warn({ user: evil, [evil]: 1, list: [evil], words: `${evil} x`, err: failure }, `for ${evil}\nnot a new line`);
  });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  expect(line).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
  expect(line).toContain(`user="${shown}"`);
  expect(line).toContain(`for ${shown}\\u000anot a new line`);
  expect(line.split("\n").slice(1)).toEqual([`  ${shown}`, "  next", ""]);
});

it("is in colour if that is asked for, and passes on what is not JSON", () => {
  expect(text((log) => log.warn("careful"), true)).toContain("\x1b[33mWARN \x1b[0m");
  expect(logText("not JSON\n", false)).toBe("not JSON\n");
});
