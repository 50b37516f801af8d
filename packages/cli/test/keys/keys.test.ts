import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { headgate } from "headgate-testkit/headgate-command";
import { expect, onTestFinished, test, vi } from "vitest";
import { service } from "../running-service.ts";

test("keys are created with a namespace, listed without secrets, and revoked", async () => {
  const key = `hg_first_${randomBytes(32).toString("base64url")}`;
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const { url } = await service({ key, cwd: tmpdir() });
  vi.stubEnv("HEADGATE_KEY", key);
  const keys = (...args: string[]) => headgate(["keys", ...args, "--url", url], { cwd: tmpdir() });

  const made = await keys("create", "--name", "shop", "--roles", "check,read", "--namespace", "shop");
  expect({ stderr: made.stderr, code: made.code }).toEqual({ stderr: "", code: 0 });
  const created = JSON.parse(made.stdout);
  expect(created).toMatchObject({ name: "shop", roles: ["check", "read"], namespace: "shop", expires_at: null });
  expect(created.key).toMatch(/^hg_/);

  const listed = (await keys("list")).stdout;
  expect(JSON.parse(listed)).toMatchObject({ key_id: created.key_id, namespace: "shop" });
  expect(listed).not.toContain(created.key);

  const revoked = await keys("revoke", created.key_id);
  expect(JSON.parse(revoked.stdout)).toMatchObject({ key_id: created.key_id, revoked_at: expect.any(String) });

  expect(await keys("create", "--name", "shop")).toMatchObject({ code: 1, stdout: "" });
  const bad = await keys("create", "--name", "shop", "--roles", "check", "--namespace", "a b");
  expect(bad.stderr).toContain("namespace");
  expect(await keys("revoke", "none")).toMatchObject({ code: 1, stderr: expect.stringContaining("404") });
});
