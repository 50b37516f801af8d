import { randomBytes } from "node:crypto";
import { headgate } from "headgate-testkit/headgate-command";
import { expect, onTestFinished, test, vi } from "vitest";
import { service } from "../running-service.ts";
import { folderWith, rulesYaml } from "./files.ts";

test("a service accepts the rules of a file, lists them and enforces them", async () => {
  const key = `hg_first_${randomBytes(32).toString("base64url")}`;
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const cwd = folderWith({
    "rules.yaml": rulesYaml({ name: "orders", limit: 2 }, { name: "all", endpoint_pattern: "/**" }),
    "fewer.yaml": rulesYaml({ name: "orders", limit: 3 }),
  });
  const { url } = await service({ key, cwd });
  vi.stubEnv("HEADGATE_KEY", key);
  const rules = async (...args: string[]) => {
    const { stdout, stderr, code } = await headgate(["rules", ...args, "--url", url], { cwd });
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
    return stdout;
  };
  const check = async () => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const body = JSON.stringify({ identifier: "alice", dimension: "user", endpoint: "/x/..%2forders" });
    return (await fetch(`${url}/api/v1/check`, { method: "POST", headers, body })).status;
  };

  expect(await rules("diff", "rules.yaml")).toContain("2 created, 0 updated, 0 removed, 0 unchanged\n");
  expect(await rules("apply", "rules.yaml")).toBe("2 created, 0 updated, 0 removed, 0 unchanged\n");
  await rules("export", "-o", "exported.yaml");
  expect(await rules("diff", "exported.yaml")).toBe("0 created, 0 updated, 0 removed, 2 unchanged\n");
  expect([await check(), await check(), await check()]).toEqual([200, 200, 429]);
  expect(await rules("apply", "fewer.yaml")).toBe("0 created, 1 updated, 1 removed, 0 unchanged\n");
  await vi.waitFor(async () => expect(await check()).toBe(200), 5_000);
});
