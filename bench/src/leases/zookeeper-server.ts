import { startZooKeeper as startServer, type ZooKeeperServer } from "headgate-testkit/zookeeper-server";
import type { Surroundings } from "../suite.ts";

/** Enough memory and the full compiler: the server of the tests is made to start quickly instead. */
const JAVA = ["-Xmx512m", "-Dzookeeper.forceSync=no"];

/** Starts the ZooKeeper shared by all subjects of a run: one server that does not wait for its disk. */
export async function startZooKeeper(): Promise<Surroundings> {
  const server = await start();
  return {
    address: server.address,
    launcher: [],
    notes: [
      `ZooKeeper ${await server.version()}, one server over the loopback, which does not force its disk. All subjects use node-zookeeper-client.`,
    ],
    close: () => server.stop(),
  };
}

async function start(): Promise<ZooKeeperServer> {
  try {
    return await startServer({ java: JAVA, tickMs: 3_000 });
  } catch (error) {
    const reason = "ZooKeeper does not start: are Debian's packages zookeeper and default-jre-headless installed?";
    throw new Error(reason, { cause: error });
  }
}
