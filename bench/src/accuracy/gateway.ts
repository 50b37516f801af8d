import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis } from "ioredis";

export interface Gateway {
  readonly url: string;
  close(): void;
}

/** The part of Upstash's REST API that its rate limiter uses, in front of a Redis: a command, or a pipeline of them. */
export async function startGateway(redisUrl: string): Promise<Gateway> {
  const client = new Redis(redisUrl);
  client.on("error", () => {});
  const scripts = new Scripts();
  const answer = async (command: readonly unknown[], encode: boolean): Promise<object> => {
    try {
      const [name, ...args] = command.map(String);
      const result = await client.call(name, ...scripts.translate(name.toLowerCase(), args));
      return { result: encode ? encoded(result) : result };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) };
    }
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const parsed: unknown = JSON.parse(body);
    if (!Array.isArray(parsed)) return void response.writeHead(400).end();
    const encode = request.headers["upstash-encoding"] === "base64";
    const isPipeline = Array.isArray(parsed[0]);
    const reply = isPipeline
      ? await Promise.all(parsed.map((command: unknown[]) => answer(command, encode)))
      : await answer(parsed, encode);
    const failed = !isPipeline && "error" in reply;
    response.writeHead(failed ? 400 : 200, { "content-type": "application/json" }).end(JSON.stringify(reply));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
      client.disconnect();
    },
  };
}

/** The scripts begin with a flag that only Upstash knows. Without it, they have another hash. */
class Scripts {
  private readonly hashes = new Map<string, string>();

  translate(command: string, [first, ...others]: readonly string[]): string[] {
    if (command === "evalsha") return [this.hashes.get(first) ?? first, ...others];
    if (command !== "eval") return first === undefined ? [] : [first, ...others];
    const script = first.replace(/^\s*#!lua flags=allow-key-locking/, "");
    this.hashes.set(sha1(first), sha1(script));
    return [script, ...others];
  }
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}

/** Texts are sent as base64 on demand, numbers as they are. */
function encoded(result: unknown): unknown {
  if (typeof result === "string") return Buffer.from(result).toString("base64");
  return Array.isArray(result) ? result.map(encoded) : result;
}
