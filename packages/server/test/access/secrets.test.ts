import { pino } from "pino";
import { afterEach, expect, it } from "vitest";
import { type Service, startService } from "../transports/rest/service.ts";

let service: Service;
afterEach(() => service.stop());

it("shows no secret in a log, an error or an answer but the one that makes it", async () => {
  const lines: string[] = [];
  const logger = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
  service = await startService({
    rest: { logger },
    parts: () => ({
      metricsText: () => {
        throw new Error("broken");
      },
    }),
  });
  const { body } = await service.ask("POST", "/api/v1/keys", {
    body: { name: "a", roles: ["check", "read", "write"] },
  });
  const key: string = body.key;
  const secret = key.slice(-43);
  const wrong = `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`;
  const answers = [
    await service.ask("GET", "/api/v1/keys"),
    await service.ask("GET", "/api/v1/audit"),
    await service.ask("GET", "/metrics", { key }),
    await service.ask("GET", "/api/v1/rules", { key: wrong }),
    await service.ask("GET", `/api/v1/rules?key=${key}`, { key }),
    await service.ask("GET", `/api/v1/${key}`, { key }),
    await service.ask("GET", `/api/v1/rules/%zz${key}`, { key }),
    await service.ask("POST", "/api/v1/check", { body: `{"key":"${key}"`, key }),
    await service.ask("POST", "/api/v1/check", { body: { identifier: key, dimension: "galaxy" }, key }),
    await service.ask("PUT", "/api/v1/users/1/tier", { body: { tier: `${key} ` }, key }),
    await service.ask("DELETE", `/api/v1/keys/${body.key_id}`),
  ];
  for (const { text, status } of answers) expect([status, text.includes(secret)]).toEqual([status, false]);
  expect(lines.join("")).toContain("broken");
  expect(lines.join("")).not.toContain(secret.slice(0, 20));
});
