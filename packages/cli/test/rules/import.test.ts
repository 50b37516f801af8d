import { readFileSync } from "node:fs";
import { join } from "node:path";
import { headgate } from "headgate-testkit/headgate-command";
import { expect, test } from "vitest";
import { folderWith } from "./files.ts";

const NGINX = `
limit_req_zone $binary_remote_addr zone=perip:10m rate=10r/s;
server { location /api/ { limit_req zone=perip burst=20 nodelay; limit_conn addr 10; } }
`;

test("import prints a rules file, and says on standard error what has no equivalent", async () => {
  const cwd = folderWith({ "nginx.conf": NGINX });
  const run = await headgate(["rules", "import", "--from", "nginx", "nginx.conf"], { cwd });
  expect(run).toMatchObject({
    code: 0,
    stderr: "headgate: nginx.conf:3: limit_conn has no equivalent: rules count requests, not connections\n",
  });
  expect(run.stdout).toContain("endpoint_pattern: /api/**");
  const written = await headgate(["rules", "import", "--from", "nginx", "nginx.conf", "-o", "rules.yaml"], { cwd });
  expect(written.stdout).toBe("rules.yaml: 1 rule, 1 note\n");
  expect(readFileSync(join(cwd, "rules.yaml"), "utf8")).toBe(run.stdout);
  expect(await headgate(["rules", "validate", "rules.yaml"], { cwd })).toMatchObject({ code: 0 });
});

test("import names mistakes in the file and in the options", async () => {
  const cwd = folderWith({ "edge.yaml": "domain: ''\n" });
  expect(await headgate(["rules", "import", "--from", "envoy", "edge.yaml"], { cwd })).toMatchObject({
    code: 1,
    stderr: "headgate: edge.yaml:1:9: domain: must not be empty\n",
  });
  expect(await headgate(["rules", "import", "edge.yaml"], { cwd })).toMatchObject({
    code: 1,
    stderr: "headgate: --from: must be envoy, limitador or nginx\n",
  });
});
