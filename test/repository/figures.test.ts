import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { root, text } from "headgate-testkit/repository";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "headgate-figures-"));

afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe("docs/figures", () => {
  it("shows what the library does now (npm run figures writes it)", async () => {
    await promisify(execFile)(process.execPath, [join(root, "scripts/figures/main.mjs"), folder]);
    const figures = readdirSync(folder).sort();
    expect(figures).toEqual(readdirSync(join(root, "docs/figures")).sort());
    expect(figures.length).toBeGreaterThan(0);
    for (const figure of figures) {
      expect(readFileSync(join(folder, figure), "utf8") === text(`docs/figures/${figure}`), figure).toBe(true);
    }
  });
});
