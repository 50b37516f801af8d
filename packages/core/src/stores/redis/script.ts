import { createHash } from "node:crypto";
import { lua } from "../../lua.generated.ts";

/**
 * Everything that decides, as one script: the frame, and before it all that the frame may use. A file is run when
 * it is used first, so that a call pays only for what it needs. The flags make a replica and a server without
 * memory refuse the call before it begins, and let it have keys of several slots that one node serves.
 */
function composed(): string {
  const { "stores/redis/frame.lua": frame, ...files } = lua;
  const used = Object.entries(files).filter(([file]) => /^(algorithms|stores\/redis)\//.test(file));
  return [
    "#!lua flags=allow-cross-slot-keys",
    "local used = {}",
    "local function use(name)",
    "  local it = used[name]",
    "  if it then return it end",
    ...used.map(([file, text]) => `  if name == "${nameOf(file)}" then it = (function()\n${text}  end)() end`),
    "  used[name] = it",
    "  return it",
    "end",
    frame,
  ].join("\n");
}

function nameOf(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1, -".lua".length);
}

export const SCRIPT = composed();
export const SCRIPT_SHA = createHash("sha1").update(SCRIPT).digest("hex");
