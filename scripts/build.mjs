// Compiles every workspace. The CommonJS copy of the library needs its own package.json; otherwise Node would load it
// as ESM, like the rest of the package.
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildDashboard } from "./build-dashboard.mjs";
import { embedLua } from "./embed-lua.mjs";

// A workspace that was added since the last `npm install` is linked as npm would link it.
for (const [folder, name] of workspaces()) {
  const link = new URL(`../node_modules/${name}`, import.meta.url);
  if (!existsSync(link)) symlinkSync(`../${folder}`, link, "dir");
}

const cjs = new URL("../packages/core/dist/cjs/", import.meta.url);
mkdirSync(cjs, { recursive: true });
writeFileSync(new URL("package.json", cjs), '{ "type": "commonjs" }\n');

embedLua();

const tsc = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));
const root = fileURLToPath(new URL("..", import.meta.url));
const { status } = spawnSync(process.execPath, [tsc, "-b"], { cwd: root, stdio: "inherit" });
if (status === 0) makeCallable(new URL("middleware/express-rate-limit.js", cjs));
process.exit(status === 0 && !buildDashboard() ? 1 : (status ?? 1));

function workspaces() {
  const manifest = (folder) => JSON.parse(readFileSync(new URL(`../${folder}/package.json`, import.meta.url), "utf8"));
  return manifest(".").workspaces.map((folder) => [folder, manifest(folder).name]);
}

// As in express-rate-limit, what `require` returns is the function itself, with the exports as its properties.
// tsc leaves a file as it is when nothing has changed, so the line may be there already.
function makeCallable(file) {
  const line = "module.exports = Object.assign(exports.rateLimit, exports);\n";
  if (!readFileSync(file, "utf8").endsWith(line)) appendFileSync(file, `\n${line}`);
}
