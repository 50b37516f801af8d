import { expect, it } from "vitest";
import { makeLog } from "./log.ts";

const settings = {
  logLevel: "info",
  adminKey: 'planted"key',
  redis: "redis://:planted-redis%40word@127.0.0.1",
  postgres: "postgres://u:planted-postgres-word@127.0.0.1/x",
};

it("writes lines of JSON in which no secret of the settings is, whatever an error quotes", () => {
  const lines: string[] = [];
  const log = makeLog(settings, (line) => lines.push(line));
  const quoting = `${settings.redis} ${settings.postgres} ${settings.adminKey} planted-redis@word`;
  log.info({ url: settings.redis, nested: { key: settings.adminKey } }, quoting);
  log.error({ err: new Error(quoting) }, "failed");
  log.debug("not at this level");
  expect(lines).toHaveLength(2);
  for (const line of lines) {
    expect(line).not.toMatch(/planted/);
    expect(JSON.parse(line)).toMatchObject({ name: "headgate", time: expect.stringMatching(/^20\d\d-.*Z$/) });
  }
  expect(JSON.parse(lines[0]).level).toBe("info");
});

it("does not treat every occurrence of a short word as a secret", () => {
  const lines: string[] = [];
  makeLog({ ...settings, adminKey: undefined, redis: "redis://:info@h" }, (line) => lines.push(line)).info("info");
  expect(JSON.parse(lines[0])).toMatchObject({ level: "info", msg: "info" });
});
