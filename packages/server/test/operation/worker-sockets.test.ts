import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "headgate-testkit/eventually";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterAll, afterEach, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "headgate-sockets-"));
const nodes: NodeProcess[] = [];

afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.end()));
  await eventually("all folders are removed", async () => left().every((name) => !name.startsWith("headgate-workers")));
});
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 10 }));

function left(): string[] {
  return readdirSync(folder);
}

async function start(): Promise<NodeProcess> {
  const node = await startNode({ flags: ["--workers", "2"], env: { TMPDIR: folder } });
  nodes.push(node);
  return node;
}

it("removes the sockets of workers when the node stops, and when its supervisor is killed", async () => {
  const stopped = await start();
  expect(left()).toHaveLength(1);
  await stopped.stop();
  expect(left()).toEqual([]);
  const killed = await start();
  expect(left()).toHaveLength(1);
  await killed.kill();
  await eventually("the workers have ended", async () => left().length === 0);
});

it("removes what a node has left of which all processes were killed", async () => {
  const other = await start();
  const [kept = ""] = left();
  const killed = await start();
  const { pid } = killed.child;
  const workers = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
  for (const worker of workers) process.kill(worker, "SIGSTOP");
  killed.child.kill("SIGKILL");
  for (const worker of workers) process.kill(worker, "SIGKILL");
  await killed.ended;
  mkdirSync(join(folder, "headgate-workers-foreign"));
  expect(left()).toHaveLength(3);
  await start();
  // Its own, that of the node that runs, and one that is not of a node.
  expect(left()).toHaveLength(3);
  expect(left()).toEqual(expect.arrayContaining([kept, "headgate-workers-foreign"]));
  expect(await other.check("user", "/anything")).toBe(200);
  rmSync(join(folder, "headgate-workers-foreign"), { recursive: true });
});
