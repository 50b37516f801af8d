// The tests run against real servers. Finds those on the PATH; on Debian, as root, installs what is missing.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";

/** The package of each server, and its programs or files that the tests use. */
const servers = [
  { name: "Redis 7", debianPackages: ["redis-server"], programs: ["redis-server", "redis-cli"] },
  {
    name: "ZooKeeper 3.8",
    debianPackages: ["zookeeper", "default-jre-headless"],
    programs: ["java", "/usr/share/java/zookeeper.jar"],
  },
  { name: "PostgreSQL 15", debianPackages: ["postgresql"], programs: ["/usr/lib/postgresql/15/bin/postgres"] },
  { name: "nginx", debianPackages: ["nginx-light"], programs: ["nginx"] },
  { name: "Caddy 2.6", debianPackages: ["caddy"], programs: ["caddy"] },
  { name: "HAProxy 2.6", debianPackages: ["haproxy"], programs: ["haproxy"] },
  { name: "Chromium", debianPackages: ["chromium"], programs: ["chromium"] },
  { name: "OpenSSL", debianPackages: ["openssl"], programs: ["openssl"] },
];

const APT = "apt-get";

const missing = servers.filter(({ programs }) => !programs.every(isThere));
if (missing.length > 0) {
  if (process.getuid?.() !== 0 || !isOnPath(APT)) refuse(missing);
  aptInstall(missing.flatMap(({ debianPackages }) => debianPackages));
  const absent = missing.filter(({ programs }) => !programs.every(isThere));
  if (absent.length > 0) refuse(absent);
}

/** @param {string} program */
function isThere(program) {
  return program.startsWith("/") ? existsSync(program) : isOnPath(program);
}

/** @param {string} program */
function isOnPath(program) {
  return spawnSync("sh", ["-c", 'command -v "$1"', "sh", program]).status === 0;
}

/** @param {typeof servers} absent */
function refuse(absent) {
  const wanted = absent.map(({ name, programs }) => `${name} (${programs.join(" and ")})`);
  console.error(`The tests need ${wanted.join(", ")}: install what is missing, then run them again.`);
  process.exit(1);
}

/** @param {string[]} packages */
function aptInstall(packages) {
  // Debian starts a server when it is installed, unless this file forbids it. The tests start their own.
  const policy = "/usr/sbin/policy-rc.d";
  const isOurs = !existsSync(policy);
  if (isOurs) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  aptGet("update");
  aptGet("install", "-y", "--no-install-recommends", ...packages);
  if (isOurs) rmSync(policy);
}

/**
 * Whether it worked shows in what is on the PATH afterwards.
 *
 * @param {string[]} args
 */
function aptGet(...args) {
  spawnSync(APT, ["-q", ...args], {
    // The output of apt must not mix with that of the caller.
    stdio: ["ignore", 2, 2],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
}
