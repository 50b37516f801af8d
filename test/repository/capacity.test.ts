import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { root, text } from "headgate-testkit/repository";
import { afterAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const page = text("docs/service/capacity.md");
const folder = mkdtempSync(join(tmpdir(), "headgate-capacity-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("docs/service/capacity.md", () => {
  it("has the table that follows from its simulations and the benchmarks (npm run capacity -- --measured writes it)", async () => {
    const file = join(folder, "capacity.md");
    await run(process.execPath, [join(root, "scripts/capacity/main.mjs"), "--measured", file]);
    expect(readFileSync(file, "utf8")).toBe(page);
    expect(page.match(/^\| 1?[\d,]+ \| `/gm)).toHaveLength(12);
  });

  it("has what the simulations print (npm run capacity writes it)", async () => {
    // The other two take minutes.
    const file = "examples/simulations/capacity/10k.yaml";
    const { stdout } = await run(process.execPath, ["packages/cli/bin/headgate.js", "simulate", file], { cwd: root });
    expect(page).toContain(`headgate simulate ${file}\n\`\`\`\n\n\`\`\`\n${stdout.trim()}\n`);
  });
});
