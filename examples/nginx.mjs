// The service behind nginx: nginx asks Headgate about each request before it passes it on, with auth_request, and the
// application has no code for limits. Starts an application, the service and nginx, all on loopback ports.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

const folder = mkdtempSync(join(tmpdir(), "headgate-nginx-"));
const children = [];

const app = createServer((request, response) => response.end(`the application serves ${request.url}\n`));
const appPort = await listen(app, 0);

// The service. A deployment would run "headgate serve" elsewhere, with an admin key from a secret store.
const adminKey = "an-example-key-do-not-reuse";
const servicePort = await freePort();
const service = `http://127.0.0.1:${servicePort}`;
const require = createRequire(import.meta.url);
const headgate = require.resolve("headgate-cli/bin/headgate.js");
const flags = ["--http", `127.0.0.1:${servicePort}`, "--grpc", "off", "--data", folder, "--log-level", "error"];
start(process.execPath, [headgate, "serve", ...flags], { HEADGATE_ADMIN_KEY: adminKey });
await until(async () => (await fetch(`${service}/readyz`)).ok);

const rule = { name: "Pages", dimension: "ip", endpoint_pattern: "/pages/*", limit: 3, window_seconds: 3600 };
await call("/api/v1/rules", rule);
// nginx gets a key that may check requests and nothing else.
const { key } = await call("/api/v1/keys", { name: "nginx", roles: ["check"] });

// nginx, with the configuration that deploy/nginx.conf has for a real deployment.
const port = Number(process.env.PORT ?? (await freePort()));
const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
  (name) => `${name}_temp_path ${folder}/${name};`,
);
const config = readFileSync(new URL("../deploy/nginx.conf", import.meta.url), "utf8")
  .replace("127.0.0.1:3000", `127.0.0.1:${appPort}`)
  .replace("127.0.0.1:8080", `127.0.0.1:${servicePort}`)
  .replace("127.0.0.1:8000", `127.0.0.1:${port}`)
  .replace("YOUR_KEY", key)
  .replace("http {", `http {\n  access_log off;\n  ${paths.join("\n  ")}`);
writeFileSync(join(folder, "nginx.conf"), config, { mode: 0o600 });
const settings = `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr;`;
start("nginx", ["-p", folder, "-c", join(folder, "nginx.conf"), "-g", settings]);
const url = `http://127.0.0.1:${port}`;
await until(async () => (await fetch(url)).ok);
console.log(`listening on ${url}\ntry: curl -i ${url}/pages/1 four times, then curl -i ${url}/`);

function start(command, args, env = {}) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "inherit"] });
  child.once("error", ({ message }) => stop(`${command} cannot be started: ${message}`));
  child.once("exit", (code) => stop(`${command} ended with code ${code}`));
  children.push(child);
}

function stop(problem) {
  for (const child of children) child.removeAllListeners("exit").kill();
  rmSync(folder, { recursive: true, force: true });
  if (problem !== undefined) console.error(problem);
  process.exit(problem === undefined ? 0 : 1);
}
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop());

/** Calls the REST API of the service as its administrator. */
async function call(path, body) {
  const headers = { authorization: `Bearer ${adminKey}`, "content-type": "application/json" };
  const response = await fetch(service + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function listen(server, wanted) {
  server.listen(wanted, "127.0.0.1");
  await once(server, "listening");
  return server.address().port;
}

async function freePort() {
  const server = createServer();
  const free = await listen(server, 0);
  server.close();
  await once(server, "close");
  return free;
}

/** Waits until a server that is starting answers. */
async function until(answers) {
  while (!(await answers().catch(() => false))) await setTimeout(50);
}
