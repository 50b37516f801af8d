import { expect, it } from "vitest";
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

it("is in colour if that is asked for, and passes on what is not JSON", () => {
  expect(text((log) => log.warn("careful"), true)).toContain("\x1b[33mWARN \x1b[0m");
  expect(logText("not JSON\n", false)).toBe("not JSON\n");
});
