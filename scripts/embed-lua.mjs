// Writes every Lua script of the library into one module: the compiler and bundlers know no .lua files.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const source = new URL("../packages/core/src/", import.meta.url);
const target = new URL("lua.generated.ts", source);

export function embedLua() {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".lua"));
  const entries = files.sort().map((file) => `  ${JSON.stringify(file)}: ${JSON.stringify(text(file))},\n`);
  const module = `// Made from the .lua files by scripts/embed-lua.mjs.\nexport const lua = {\n${entries.join("")}} as const;\n`;
  // Only when it changed: a new file would be compiled anew.
  if (current() !== module) writeFileSync(target, module);
}

function text(file) {
  return readFileSync(new URL(file, source), "utf8");
}

function current() {
  try {
    return readFileSync(target, "utf8");
  } catch {
    return undefined;
  }
}
