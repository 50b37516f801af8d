// Writes every Lua script of the library into one module, because compilers and bundlers do not understand .lua files.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const source = new URL("../packages/core/src/", import.meta.url);
const target = new URL("lua.generated.ts", source);

export function embedLua() {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".lua"));
  const names = files.sort().map((file) => JSON.stringify(file));
  const entries = files.map((file, index) => `  ${names[index]}: ${JSON.stringify(text(file))},\n`);
  // The type has only the names: a type with the texts would put every script into the published declarations.
  const type = `Readonly<Record<\n  | ${names.join("\n  | ")},\n  string\n>>`;
  const module = `// Made from the .lua files by scripts/embed-lua.mjs.\nexport const lua: ${type} = {\n${entries.join("")}};\n`;
  // Only if it changed, because a new file would be compiled again.
  if (current() !== module) writeFileSync(target, module);
}

/** Without the lines that are comments only: Redis need not keep them. Those that include another file stay. */
function text(file) {
  return readFileSync(new URL(file, source), "utf8").replaceAll(/^ *(--(?!- @include).*)?\n/gm, "");
}

function current() {
  try {
    return readFileSync(target, "utf8");
  } catch {
    return undefined;
  }
}
