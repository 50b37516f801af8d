import { InvalidInput } from "../failure.ts";
import type { Source } from "../input/source.ts";
import { ObjectStream } from "../json/object-stream.ts";
import { FileMembers } from "./file-members.ts";
import { type Config, readConfig } from "./limits-config.ts";

/**
 * Finds the config of a scenario, reading no further than necessary. It usually comes first; if it follows the
 * requests, it still has to be known before they are decided.
 */
export async function findConfig(source: Source): Promise<Config> {
  const members = new FileMembers("a scenario", ["config", "requests"]);
  let config: unknown = {};
  const stream = new ObjectStream(source.name, {
    member: (name) => (members.add(name) === "config" ? "whole" : "skip"),
    value: (_name, value) => {
      config = value;
      stream.stop();
    },
    element: () => {},
  });
  for await (const piece of source.look()) {
    stream.write(piece);
    if (stream.isStopped) break;
  }
  stream.end();
  return readConfig(config);
}

/** Reads a file that is either a config or a whole scenario that contains one. */
export async function readConfigFile(source: Source): Promise<Config> {
  const members = new FileMembers("a config or a scenario", ["default", "users", "config", "requests"]);
  const values = new Map<string, unknown>();
  const stream = new ObjectStream(source.name, {
    member: (name) => (members.add(name) === "requests" ? "skip" : "whole"),
    value: (name, value) => values.set(name, value),
    element: () => {},
  });
  for await (const piece of source.read()) stream.write(piece);
  stream.end();
  if (!members.has("config")) return readConfig(Object.fromEntries(values));
  const stray = ["default", "users"].find((name) => members.has(name));
  if (stray !== undefined) throw new InvalidInput(`${stray}: must be inside config, not next to it`);
  return readConfig(values.get("config"));
}
