// Compiles every workspace. The CommonJS copy of the library needs a package.json of its own,
// else Node would read it as ESM like the rest of the package.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { embedLua } from "./embed-lua.mjs";

const cjs = new URL("../packages/core/dist/cjs/", import.meta.url);
mkdirSync(cjs, { recursive: true });
writeFileSync(new URL("package.json", cjs), '{ "type": "commonjs" }\n');

embedLua();

const tsc = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));
const root = fileURLToPath(new URL("..", import.meta.url));
const { status } = spawnSync(process.execPath, [tsc, "-b"], { cwd: root, stdio: "inherit" });
process.exit(status ?? 1);
