import { Agent, type IncomingMessage, request } from "node:http";
import { eventually } from "headgate-testkit/eventually";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterEach, expect, it } from "vitest";

/** A connection that has been idle for this long may be closed at any moment. */
const IDLE_MS = 1_000;
const TOO_LATE = "too late";

let node: NodeProcess | undefined;
afterEach(() => node?.end());

/** A client that keeps one connection, and asks again as soon as it is answered, until it cannot connect. */
async function askAgainAndAgain(url: URL, key: string, answers: string[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let sent = performance.now();
  for (;;) {
    const before = sent;
    sent = performance.now();
    try {
      answers.push(await ask(url, key, agent));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ECONNREFUSED") return;
      // What a busy machine sent after a long silence had no right to an answer.
      answers.push(sent - before < IDLE_MS ? `no answer: ${error}` : TOO_LATE);
    }
  }
}

function ask({ hostname, port }: URL, key: string, agent: Agent): Promise<string> {
  const body = JSON.stringify({ identifier: "a", endpoint: "/many" });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": body.length };
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path: "/api/v1/check", method: "POST", agent, headers });
    asked.on("error", reject).on("response", (response: IncomingMessage) => {
      response.on("error", reject).on("end", () => resolve(`${response.statusCode} ${response.headers.connection}`));
      response.resume();
    });
    asked.end(body);
  });
}

it("answers every request that it accepted, under load, and closes each connection with the answer", async () => {
  node = await startNode();
  await node.addRule("many", "/many", 1_000_000);
  const url = new URL(node.url);
  const clients = Array.from({ length: 8 }, (): string[] => []);
  const asking = clients.map((answers) => askAgainAndAgain(url, String(node?.key), answers));
  await eventually("all are answered", async () => clients.every(({ length }) => length > 20));
  expect(await node.stop()).toBe(0);
  await Promise.all(asking);
  for (const answers of clients) {
    expect(new Set(answers.slice(0, -1))).toEqual(new Set(["200 keep-alive"]));
    expect(["200 close", TOO_LATE]).toContain(answers.at(-1));
  }
});
