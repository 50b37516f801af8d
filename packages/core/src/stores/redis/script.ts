import { createHash } from "node:crypto";
import { lua } from "../../lua.generated.ts";

/**
 * Everything that decides, as one script. Each file becomes a function that runs when it is used first, so that
 * a call pays for the algorithms that it needs. The flags make a replica and a server without memory refuse it
 * before it begins, and let one call have keys of several slots that the same node serves.
 */
function composed(): string {
  const twins = Object.entries(lua).filter(([file]) => file.startsWith("algorithms/"));
  return [
    "#!lua flags=allow-cross-slot-keys",
    "local files, used = {}, {}",
    "local function use(name)",
    "  if used[name] == nil then used[name] = files[name]() end",
    "  return used[name]",
    "end",
    ...twins.map(([file, text]) => `files["${nameOf(file)}"] = function()\n${text}end`),
    lua["stores/redis/frame.lua"],
  ].join("\n");
}

function nameOf(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1, -".lua".length);
}

export const SCRIPT = composed();
export const SCRIPT_SHA = createHash("sha1").update(SCRIPT).digest("hex");
