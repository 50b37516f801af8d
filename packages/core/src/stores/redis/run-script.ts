import type { RedisArgument, RedisClient } from "./clients/redis-client.ts";
import type { Script } from "./lua-script.ts";
import { isScriptMissing } from "./redis-errors.ts";

/** Calls a script; a server that does not have it gets it with the call. */
export async function runScript(
  client: RedisClient,
  script: Script,
  keys: readonly string[],
  args: readonly RedisArgument[],
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...args];
  try {
    return await client.send(["EVALSHA", script.sha, ...rest], keys[0]);
  } catch (error) {
    if (!isScriptMissing(error)) throw error;
    return client.send(["EVAL", script.text, ...rest], keys[0]);
  }
}
