import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { start } from "./headgate.ts";

/** Starts a node as its user would, and answers where it listens. */
export async function serve(cwd: string, flags: readonly string[] = []): Promise<string> {
  const child = start(["serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", ...flags], { cwd });
  const closed = new Promise((resolve) => child.once("close", resolve));
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await closed;
  });
  child.stdout.resume();
  return new Promise((resolve, reject) => {
    createInterface(child.stderr).on("line", (line) => {
      if (line.includes('"msg":"ready"')) resolve(JSON.parse(line).http);
    });
    closed.then(() => reject(new Error("the service has ended before it was ready")));
  });
}
