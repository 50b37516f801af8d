import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const SERVER = resolve(import.meta.dirname, "../../..");
const BIN = resolve(SERVER, "../../node_modules/.bin");

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "headgate-proto-"));
});
afterAll(() => rmSync(dir, { recursive: true }));

function buf(...args: string[]): string {
  const { PATH } = process.env;
  const env = { ...process.env, PATH: `${BIN}:${PATH}` };
  return execFileSync(join(BIN, "buf"), args, { cwd: SERVER, env, encoding: "utf8", stdio: "pipe" });
}

/** All files of a folder by their paths in it. */
function filesOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map(({ parentPath, name }) => [
      join(parentPath, name).slice(folder.length),
      readFileSync(join(parentPath, name), "utf8"),
    ]),
  );
}

describe("the proto files", () => {
  it("are as buf's rules have them", () => {
    expect(buf("lint")).toBe("");
  });

  it("are compatible with version 1 as it was first published", () => {
    expect(buf("breaking", "--against", "test/transports/grpc/v1.binpb")).toBe("");
  });

  it("name the packages of generated Go and Java code", () => {
    const proto = readFileSync(join(SERVER, "proto/headgate/v1/rate_limiter.proto"), "utf8");
    expect(proto).toMatch(/^option go_package = "headgate\/v1;headgatev1";$/m);
    expect(proto).toMatch(/^option java_package = "headgate\.v1";$/m);
    expect(proto).toMatch(/^option java_multiple_files = true;$/m);
  });

  it("give the code that is checked in", () => {
    buf("generate", "--output", dir);
    expect(filesOf(join(dir, "test/transports/grpc/generated"))).toEqual(
      filesOf(join(SERVER, "test/transports/grpc/generated")),
    );
  });

  it("generate the descriptors that reflection returns", () => {
    buf("build", "--as-file-descriptor-set", "--exclude-source-info", "-o", join(dir, "rate_limiter.binpb"));
    const made = readFileSync(join(dir, "rate_limiter.binpb"));
    expect(made.equals(readFileSync(join(SERVER, "proto/headgate/v1/rate_limiter.binpb")))).toBe(true);
  });
});
