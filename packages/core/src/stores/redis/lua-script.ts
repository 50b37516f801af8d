import { createHash } from "node:crypto";
import { lua } from "../../lua.generated.ts";

export interface Script {
  readonly text: string;
  readonly sha: string;
}

/**
 * A frame with everything that it may use. A file is run on first use, so that a call pays only for what it needs. The
 * flags make replicas and servers without memory reject the call before it starts, and allow keys of several slots on
 * one node.
 */
function composed(frame: string): Script {
  return script([
    "#!lua flags=allow-cross-slot-keys",
    "local used = {}",
    "local function use(name)",
    "  local it = used[name]",
    "  if it then return it end",
    ...files.map(([file, text]) => `  if name == "${nameOf(file)}" then it = (function()\n${text}  end)() end`),
    "  used[name] = it",
    "  return it",
    "end",
    frame,
  ]);
}

function script(lines: readonly string[]): Script {
  const text = lines.join("\n");
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

function nameOf(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1, -".lua".length);
}

const {
  "stores/redis/frame.lua": frame,
  "stores/redis/short.lua": short,
  "stores/redis/journal.lua": holds,
  ...rest
} = lua;
const files = Object.entries(rest).filter(([file]) => /^(algorithms|stores\/redis)\//.test(file));

/** Decides any batch. */
export const FRAME = composed(frame);
/** Decides the most common batch: requests of one cost under one limit. */
export const SHORT = composed(short);
/** Maintains the journal of reservations. */
export const HOLDS = script(["#!lua", holds]);
