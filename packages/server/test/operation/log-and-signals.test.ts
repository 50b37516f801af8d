import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { spawnChild } from "headgate-testkit/child-process";
import { eventually } from "headgate-testkit/eventually";
import { program } from "headgate-testkit/headgate-command";
import { NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

const SCRIPT = "/usr/bin/script";
const OPENSSL = "openssl";
const ADMIN_KEY = "chosen-by-the-operator";
const env = { HEADGATE_ADMIN_KEY: ADMIN_KEY };

let folder: string;
const at = (name: string): string => join(folder, name);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-signals-"));
  for (const name of ["one", "two"]) {
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", `/CN=${name}`];
    const files = ["-keyout", `${name}.key`, "-out", `${name}.pem`, "-days", "2"];
    execFileSync(OPENSSL, ["req", "-x509", ...key, ...files], { cwd: folder, stdio: "ignore" });
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function started(...options: Parameters<typeof startNode>): Promise<NodeProcess> {
  const node = await startNode(...options);
  endings.push(() => node.end());
  return node;
}

/** A node whose standard error is redirected, observed through what it prints. */
function startedInShell(command: string, ...args: string[]) {
  const data = mkdtempSync(join(tmpdir(), "headgate-node-"));
  const flags = ["serve", "--http", "127.0.0.1:0", "--grpc", "off", "--data", data];
  const child = spawnChild("/bin/sh", ["-c", command, process.execPath, program, ...flags, ...args]);
  let printed = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => {
    printed += text;
  });
  const ended = once(child, "close");
  endings.push(async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(data, { recursive: true, force: true });
  });
  const url = async (): Promise<string> => {
    await eventually("it is ready", async () => /is ready[\s\S]*Content-Type/.test(printed));
    return String(/REST {2}(\S+)/.exec(printed)?.[1]);
  };
  return { child, data, url, ended, printed: () => printed };
}

async function lostLines(url: string, key: string): Promise<number> {
  const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
  return Number(/^headgate_log_lines_lost_total (\d+)$/m.exec(await metrics.text())?.[1]);
}

describe("a log that cannot be written", () => {
  it("on a full disk is counted, and the node keeps running and drains", async () => {
    const node = startedInShell(`HEADGATE_ADMIN_KEY=${ADMIN_KEY} exec "$0" "$@" 2>/dev/full`);
    const url = await node.url();
    await eventually("the lines are counted", async () => (await lostLines(url, ADMIN_KEY)) >= 1);
    node.child.kill("SIGTERM");
    expect(await node.ended).toEqual([0, null]);
  });

  it("to a reader that has left is counted, and the node keeps running and drains", async () => {
    const node = await started({ env });
    node.child.stderr?.destroy();
    await eventually("the lines are counted", async () => {
      node.child.kill("SIGHUP");
      return (await lostLines(node.url, ADMIN_KEY)) >= 1;
    });
    expect(await node.stop()).toBe(0);
  });

  it("in a file on a full disk is counted", async () => {
    const node = startedInShell(`HEADGATE_ADMIN_KEY=${ADMIN_KEY} exec "$0" "$@"`, "--log-file", "/dev/full");
    const url = await node.url();
    await eventually("the lines are counted", async () => (await lostLines(url, ADMIN_KEY)) >= 1);
    node.child.kill("SIGTERM");
    expect(await node.ended).toEqual([0, null]);
  });

  it("does not keep standard output from being closed either", async () => {
    const node = new NodeProcess({ env });
    endings.push(() => node.end());
    node.child.stdout?.destroy();
    await node.whenReady();
    expect((await node.request("GET", "/healthz")).status).toBe(200);
    expect(await node.stop()).toBe(0);
  });

  it("refuses a file that cannot be opened at the start", async () => {
    const node = new NodeProcess({ env, flags: ["--log-file", "/nowhere/at/all.log"] });
    endings.push(() => node.end());
    expect(await node.ended).toBe(1);
    expect(node.stderr).toMatch(/^headgate: --log-file: \/nowhere\/at\/all\.log cannot be opened .*ENOENT/);
  });
});

describe("SIGHUP", () => {
  it("reads the rules of a file again, and says which are in force", async () => {
    const rule = (limit: number) =>
      `rules:\n  - {name: a, dimension: user, endpoint_pattern: /a, limit: ${limit}, window_seconds: 60}\n`;
    writeFileSync(at("rules.yaml"), rule(1));
    const node = await started({ env, flags: ["--rules", at("rules.yaml")] });
    expect(await node.check("alice", "/a")).toBe(200);
    expect(await node.check("alice", "/a")).toBe(429);
    writeFileSync(at("rules.yaml"), rule(5));
    node.child.kill("SIGHUP");
    await eventually("it has read them", async () => node.log.some(({ msg }) => msg === "reloaded the rules"));
    expect(await node.check("alice", "/a")).toBe(200);
    writeFileSync(at("rules.yaml"), "rules: 5\n");
    node.child.kill("SIGHUP");
    await eventually("it says that it cannot", async () =>
      node.log.some(({ level, msg }) => level === "error" && /^cannot reload the rules/.test(String(msg))),
    );
    expect(await node.check("alice", "/a")).toBe(200);
    expect(await node.stop()).toBe(0);
  });

  it("makes REST and gRPC use renewed certificates, and keeps the old ones if the new cannot be used", async () => {
    const [cert, key] = [at("cert.pem"), at("key.pem")];
    copyFileSync(at("one.pem"), cert);
    copyFileSync(at("one.key"), key);
    const node = await started({ env, flags: ["--tls-cert", cert, "--tls-key", key] });
    const ports = [Number(new URL(node.url).port), Number(node.grpcAddress.split(":")[1])];
    const names = () => Promise.all(ports.map(nameOnPort));
    expect(await names()).toEqual(["one", "one"]);
    copyFileSync(at("two.pem"), cert);
    node.child.kill("SIGHUP");
    await eventually("it refuses the pair", async () =>
      node.log.some(({ msg }) => /^cannot use the new certificates/.test(String(msg))),
    );
    expect(await names()).toEqual(["one", "one"]);
    copyFileSync(at("two.key"), key);
    node.child.kill("SIGHUP");
    await eventually("it uses the new ones", async () => (await names()).join() === "two,two");
    expect(await node.stop()).toBe(0);
  });

  it("opens the log file again", async () => {
    const file = at("headgate.log");
    const node = startedInShell(`HEADGATE_ADMIN_KEY=${ADMIN_KEY} exec "$0" "$@"`, "--log-file", file);
    await node.url();
    await eventually("it logs there", async () => readFileSync(file, "utf8").includes('"ready"'));
    renameSync(file, `${file}.1`);
    node.child.kill("SIGHUP");
    await eventually(
      "it logs in a new file",
      async () => existsSync(file) && /reloading/.test(readFileSync(file, "utf8")),
    );
    expect(readFileSync(`${file}.1`, "utf8")).not.toContain("reloading");
    node.child.kill("SIGTERM");
    expect(await node.ended).toEqual([0, null]);
    expect(readFileSync(file, "utf8")).toContain('"stopped"');
  });
});

describe("other signals", () => {
  it("SIGQUIT drains as SIGTERM does", async () => {
    const node = await started({ env });
    node.child.kill("SIGQUIT");
    expect(await node.ended).toBe(0);
    expect(node.log.map(({ msg }) => msg)).toEqual(["ready", "stopping", "stopped"]);
  });

  it("SIGUSR1 and SIGUSR2 do nothing: no inspector is opened", async () => {
    const node = await started({ env });
    for (const signal of ["SIGUSR1", "SIGUSR2", "SIGUSR1"] as const) {
      node.child.kill(signal);
      expect((await node.request("GET", "/healthz")).status).toBe(200);
    }
    // Whatever they might have started would be there by the time that it has stopped.
    expect(await node.stop()).toBe(0);
    expect(node.stderr).not.toMatch(/debugger|inspector/i);
  });
});

describe("the first admin key", () => {
  it("is in a file for its owner, and in no output, where there is no terminal", async () => {
    const node = await started();
    const file = join(node.data, "first-admin-key");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = readFileSync(file, "utf8").trim();
    expect(key).toMatch(/^hg_[0-9a-f]{16}_[\w-]{43}$/);
    expect((await node.request("GET", "/api/v1/keys")).status).toBe(200);
    expect(node.log.find(({ file: named }) => named === file)).toMatchObject({ level: "warn" });
    expect(node.stdout).toContain(file);
    expect(await node.stop()).toBe(0);
    expect(node.stdout + node.stderr).not.toContain(key.slice(3, 30));
  });

  it("is not made if it cannot be kept", async () => {
    const data = at("data-with-key-in-the-way");
    const first = await started({ data });
    await first.stop();
    const key = first.key;
    const list = await started({ data, env });
    const { keys } = (await (await list.request("GET", "/api/v1/keys")).json()) as { keys: { key_id: string }[] };
    await list.request("DELETE", `/api/v1/keys/${keys[0].key_id}`);
    await list.stop();
    rmSync(join(data, "first-admin-key"));
    // A folder that is not empty cannot be replaced by a file.
    mkdirSync(join(data, "first-admin-key", "inside"), { recursive: true });
    const node = new NodeProcess({ data });
    endings.push(() => node.end());
    expect(await node.ended).toBe(1);
    expect(node.stderr).toMatch(/headgate: --data: .*first-admin-key cannot be written .*HEADGATE_ADMIN_KEY/);
    const again = await started({ data, env });
    const after = (await (await again.request("GET", "/api/v1/keys")).json()) as { keys: unknown[] };
    expect(after.keys).toHaveLength(1);
    expect(key).toMatch(/^hg_/);
  });

  it.skipIf(!existsSync(SCRIPT))("is shown on a terminal, where the log is text", async () => {
    const node = startedInShell(`exec ${SCRIPT} -qefc "$0 $* --log-level info" /dev/null`);
    await eventually("it is ready", async () => /INFO {2}ready .*http=/.test(node.printed()));
    expect(node.printed()).toMatch(/^ {2}hg_[0-9a-f]{16}_[\w-]{43}\r?$/m);
    expect(existsSync(join(node.data, "first-admin-key"))).toBe(false);
    expect(node.printed()).not.toContain('"msg"');
  });

  it.skipIf(!existsSync(SCRIPT))("and the node ends when that terminal is closed", async () => {
    const node = startedInShell(`exec ${SCRIPT} -qefc "exec $0 $* --log-file ${at("closed.log")}" /dev/null`);
    await node.url();
    node.child.kill("SIGKILL");
    const log = () => (existsSync(at("closed.log")) ? readFileSync(at("closed.log"), "utf8") : "");
    await eventually("it has drained", async () => log().includes('"stopped"'));
    expect(log()).toContain('"SIGHUP"');
  });
});

async function nameOnPort(port: number): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2", "http/1.1"] });
  try {
    await once(socket, "secureConnect");
    return socket.getPeerCertificate().subject.CN;
  } finally {
    socket.destroy();
  }
}
