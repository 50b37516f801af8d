import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { headgate } from "headgate-testkit/headgate-command";
import { expect, onTestFinished, test, vi } from "vitest";
import { service } from "../running-service.ts";

test("reservations are listed as a table or JSON, and released", async () => {
  const key = `hg_first_${randomBytes(32).toString("base64url")}`;
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const node = await service({ key, cwd: tmpdir() });
  vi.stubEnv("HEADGATE_KEY", key);
  const reservations = (...args: string[]) => headgate(["reservations", ...args, "--url", node.url], { cwd: tmpdir() });
  expect(await reservations("list")).toMatchObject({ code: 0, stdout: "no reservations\n", stderr: "" });
  expect(await reservations("list", "--json")).toMatchObject({ code: 0, stdout: "" });

  await node.addRule("tokens", "/tokens", 1_000);
  await node.addRule("streams", "/tokens", 4, { algorithm: "concurrency", window_seconds: null });
  const ask = async (path: string, body: object, secret = key) => {
    const response = await node.request("POST", `/api/v1/${path}`, body, { authorization: `Bearer ${secret}` });
    return JSON.parse(await response.text());
  };
  const shop = await ask("keys", { name: "shop", roles: ["check"], namespace: "shop" });
  const reserve = async (identifier: string): Promise<string> => {
    const checks = [{ identifier, endpoint: "/tokens", cost: 400 }];
    return (await ask("reservations", { checks, for_ms: 600_000 }, shop.key)).reservation_id;
  };
  const [first, second] = [await reserve("42"), await reserve("a\u001b[31m b")];

  const table = await reservations("list");
  expect(table).toMatchObject({ code: 0, stderr: "" });
  const lines = table.stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatch(/^id +owner +age +expires in +reserved$/);
  const line = lines.find((line) => line.startsWith(first));
  expect(line).toMatch(/ {2}shop +\d+ s +\d+ s +tokens 400 \(user 42\), streams 1 slot \(user 42\)$/);
  expect(table.stdout).toContain('(user "a\\u001b[31m b")');
  expect(table.stdout).not.toContain("\u001b");

  const listed = (await reservations("list", "--json")).stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(listed.map(({ reservation_id }) => reservation_id).sort()).toEqual([first, second].sort());
  expect(listed[0]).toMatchObject({ owner: "shop", reserved: [{ rule_id: "tokens", cost: 400 }, { slots: true }] });

  const released = await reservations("release", first, "none", second);
  expect(released).toMatchObject({ code: 1, stdout: `released ${first}\n` });
  expect(released.stderr).toContain('"none": ');
  expect(released.stderr).toContain("404 Reservation not found");
  expect(await reservations("release", second)).toMatchObject({ code: 0, stdout: `released ${second}\n`, stderr: "" });
  expect((await reservations("list")).stdout).toBe("no reservations\n");

  expect(await reservations("release")).toMatchObject({ code: 1, stderr: expect.stringContaining("id: is required") });
  const unreachable = await headgate(["reservations", "list", "--url", "http://127.0.0.1:1"], { cwd: tmpdir() });
  expect(unreachable).toMatchObject({ code: 1, stderr: expect.stringContaining("cannot be reached") });
});
