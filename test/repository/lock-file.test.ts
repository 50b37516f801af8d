import { text } from "headgate-testkit/repository";
import { describe, expect, it } from "vitest";

interface LockEntry {
  readonly link?: boolean;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly cpu?: readonly string[];
}

const lock: { readonly packages: Readonly<Record<string, LockEntry>> } = JSON.parse(text("package-lock.json"));

describe("package-lock.json", () => {
  // A registry mirror may lack the binaries of other platforms, and npm then writes their entries without a hash.
  it("has an integrity hash for all packages but development binaries of other platforms", () => {
    const installed = Object.entries(lock.packages).filter(
      ([path, { link }]) => path.includes("node_modules/") && !link,
    );
    expect(installed.length).toBeGreaterThan(0);
    const missing = installed.filter(([, { integrity }]) => !integrity?.startsWith("sha512-"));
    const wrong = missing.filter(([, { dev, optional, cpu }]) => !(dev && optional && cpu));
    expect(
      wrong.map(([path]) => path),
      "add them with npm run lock:complete",
    ).toEqual([]);
  });

  it("names no registry, so that every registry can be used", () => {
    expect(text("package-lock.json")).not.toMatch(/"resolved": "https?:/);
  });
});
