import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { onTestFinished } from "vitest";

/** Starts a node that stops with the test. */
export async function service(options: {
  readonly key: string;
  readonly cwd: string;
  readonly flags?: readonly string[];
}): Promise<NodeProcess> {
  const { key, cwd, flags = [] } = options;
  const node = await startNode({ cwd, flags, env: { HEADGATE_ADMIN_KEY: key } });
  onTestFinished(async () => {
    await node.stop();
    await node.end();
  });
  return node;
}
