import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { isThere } from "../run/cores.ts";
import type { Surroundings } from "../suite.ts";

/** Debian's jar names all that it needs in its manifest. */
const JAR = "/usr/share/java/zookeeper.jar";

/** How long it may take to say which version it is. */
const SILENCE_MS = 500;

/** Starts the ZooKeeper that all subjects of a run share: one server, that does not wait for its disk. */
export async function startZooKeeper(): Promise<Surroundings> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "headgate-bench-"));
  const config = join(folder, "zoo.cfg");
  const lines = [
    `dataDir=${folder}`,
    `clientPort=${port}`,
    "clientPortAddress=127.0.0.1",
    "maxClientCnxns=0",
    "admin.enableServer=false",
    "4lw.commands.whitelist=srvr",
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  const [command, ...args] = [
    // Not to be left behind when this process is killed.
    ...(isThere("setpriv") ? ["setpriv", "--pdeathsig", "KILL"] : []),
    ...["java", "-Xmx512m", "-Dzookeeper.forceSync=no", "-cp", JAR],
    ...["org.apache.zookeeper.server.quorum.QuorumPeerMain", config],
  ];
  const server = spawn(command, args, { stdio: "ignore" });
  let hasEnded = false;
  const ended = new Promise<void>((resolve) => {
    for (const event of ["error", "close"]) server.once(event, () => resolve());
  }).then(() => {
    hasEnded = true;
  });
  const killServer = () => server.kill("SIGKILL");
  process.once("exit", killServer);
  const close = async () => {
    killServer();
    await ended;
    process.off("exit", killServer);
    rmSync(folder, { recursive: true, force: true });
  };

  let version: string | undefined;
  while (version === undefined && !hasEnded) {
    version = await versionAt(port).catch(() => undefined);
    await delay(10);
  }
  if (version === undefined) {
    await close();
    throw new Error("ZooKeeper does not start: are Debian's packages zookeeper and default-jre-headless installed?");
  }
  return {
    address: `127.0.0.1:${port}`,
    launcher: [],
    notes: [
      `ZooKeeper ${version}, one server over the loopback, which does not force its disk. All subjects use node-zookeeper-client.`,
    ],
    close,
  };
}

/** Until it serves it refuses the connection, says nothing of the kind, or nothing at all. */
async function versionAt(port: number): Promise<string | undefined> {
  const socket = connect(port, "127.0.0.1");
  socket.setTimeout(SILENCE_MS, () => socket.destroy());
  socket.write("srvr");
  return /^Zookeeper version: ([\d.]+)/m.exec(await text(socket))?.[1];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
