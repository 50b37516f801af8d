import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { allSettings, variableOf } from "../../src/config/fields.ts";
import { readSettings } from "../../src/config/read-settings.ts";
import { Catalogue } from "../../src/rules/catalogue.ts";
import { readRulesFile } from "../../src/rules/rules-file.ts";
import { rulesOfFile } from "../../src/runtime/file-rules.ts";

const ANALYZE = "/usr/bin/systemd-analyze";
const root = new URL("../../../../", import.meta.url);

function path(name: string): string {
  return new URL(name, root).pathname;
}

function text(name: string): string {
  return readFileSync(path(name), "utf8");
}

describe("what is there to run Headgate elsewhere", () => {
  it("a Dockerfile that copies only what exists or was built before, and runs as an unprivileged user", () => {
    const lines = text("Dockerfile").replaceAll("\\\n", " ").split("\n");
    const copied = lines.filter((line) => line.startsWith("COPY ")).flatMap((line) => line.split(/ +/).slice(1, -1));
    const made = new Set(copied.filter((name) => name.endsWith("/dist")));
    const named = copied.filter((name) => !name.startsWith("--") && !made.has(name));
    expect(named.length).toBeGreaterThan(5);
    for (const name of named) expect(existsSync(path(name.replace(/^\/headgate\/?/, "./"))), name).toBe(true);
    for (const name of made)
      expect(existsSync(path(name.replace("/headgate/", "").replace("/dist", "/src")))).toBe(true);
    expect(lines.findLastIndex((line) => line.startsWith("USER "))).toBeGreaterThan(
      lines.findLastIndex((line) => line.startsWith("FROM ")),
    );
    expect(lines.find((line) => line.startsWith("ENTRYPOINT"))).toContain("packages/cli/bin/headgate.js");
    const [, command] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(lines.join("\n")) ?? [];
    expect(spawnSync(process.execPath, ["--check", "-"], { input: JSON.parse(command)[2] }).status).toBe(0);
    expect(variablesIn(lines.join("\n"))).toEqual(["HEADGATE_DATA", "HEADGATE_GRPC", "HEADGATE_HTTP"]);
  });

  it("a compose file whose settings are known, on servers that wait until they are healthy", () => {
    const { services, volumes } = parse(text("compose.yaml"));
    const { headgate, ...others } = services;
    expect(Object.keys(headgate.environment).filter((name) => !isVariable(name))).toEqual([]);
    expect(headgate.ports.every((port: string) => port.startsWith("127.0.0.1:"))).toBe(true);
    expect(Object.keys(headgate.depends_on)).toEqual(Object.keys(others));
    for (const service of Object.values<{ volumes: string[]; healthcheck: object }>(others)) {
      expect(service.healthcheck).toBeDefined();
      for (const volume of service.volumes) expect(volumes).toHaveProperty(volume.split(":")[0]);
    }
    expect(existsSync(path(`${headgate.build}/Dockerfile`))).toBe(true);
  });

  it("a systemd unit that systemd takes, with a file of settings that headgate takes", async () => {
    const unit = path("deploy/headgate.service");
    if (existsSync(ANALYZE)) expect(execFileSync(ANALYZE, ["verify", unit], { encoding: "utf8" })).toBe("");
    expect(variablesIn(text("deploy/headgate.service")).filter((name) => !isVariable(name))).toEqual([]);
    const { settings } = await readSettings({ flags: { config: path("deploy/headgate.yaml") }, env: {} });
    expect(settings.redis).toBe("redis://127.0.0.1:6379");
  });

  it("an example of rules that can be used as it is, and has no two in each other's way", async () => {
    const inputs = await readRulesFile(path("examples/rules.yaml"));
    expect(Catalogue.of(rulesOfFile(inputs, [], new Date())).warnings).toEqual([]);
  });
});

function variablesIn(content: string): string[] {
  return [...new Set(content.match(/\bHEADGATE_[A-Z_]+/g))].sort();
}

function isVariable(name: string): boolean {
  return allSettings.some((setting) => variableOf(setting) === name);
}
