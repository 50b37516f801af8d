import { headgate } from "headgate-testkit/headgate-command";
import { expect, test } from "vitest";
import { folderWith, rulesYaml } from "./files.ts";

test("diff shows what changes from one file to another", async () => {
  const cwd = folderWith({
    "before.yaml": rulesYaml({ name: "orders" }, { name: "old" }, { name: "same", methods: ["PUT", "post"] }),
    "after.yaml": rulesYaml(
      { name: "same", methods: ["POST", "PUT"] },
      { name: "Ours", rule_id: "orders", endpoint_pattern: "/orders", limit: 50, burst: 5, methods: ["POST"] },
      { name: "new", tier: "pro", methods: ["POST", "PUT"] },
    ),
  });
  const args = ["rules", "diff", "after.yaml", "--against", "before.yaml"];
  expect(await headgate(args, { cwd })).toEqual({
    stdout:
      "+ new: 100 in 60 s for each user of tier pro at POST,PUT /new\n" +
      "~ orders: name orders -> Ours, methods null -> POST, limit 100 -> 50, burst null -> 5\n" +
      "- old: 100 in 60 s for each user at /old\n" +
      "1 created, 1 updated, 1 removed, 1 unchanged\n",
    stderr: "",
    code: 0,
  });
  expect((await headgate([...args, "--fail-on-difference"], { cwd })).code).toBe(3);
});

test("diff of a file with itself shows nothing, and fails for nothing", async () => {
  const cwd = folderWith({ "rules.yaml": rulesYaml({ name: "orders" }) });
  const args = ["rules", "diff", "rules.yaml", "--against", "rules.yaml", "--fail-on-difference"];
  expect(await headgate(args, { cwd })).toEqual({
    stdout: "0 created, 0 updated, 0 removed, 1 unchanged\n",
    stderr: "",
    code: 0,
  });
});

test("diff does not compare with a file and a service at once", async () => {
  const run = await headgate(["rules", "diff", "a.yaml", "--against", "b.yaml", "--url", "http://127.0.0.1:1"]);
  expect(run).toMatchObject({
    code: 1,
    stderr: "headgate: --against: compares with a file; leave out --url and --key\n",
  });
});
