// Serves checks over gRPC, or echoes bytes with bare grpc-js, in a process of its own: its processor time is the figure.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import { makeLog, type Settings, serve } from "headgate-server";
import { METHODS, sameBytes } from "./grpc-requests.ts";
import { ECHO, type FromGrpc } from "./grpc-served.ts";
import { CHECK, KEY, RULE } from "./rest-requests.ts";

const [subject] = process.argv.slice(2);
const data = mkdtempSync(join(tmpdir(), "headgate-bench-"));
process.once("exit", () => rmSync(data, { recursive: true, force: true }));
// Who started it may have been killed.
process.once("disconnect", () => process.exit());
process.once("SIGTERM", () => process.exit());

tell({ port: subject === ECHO ? await echo() : await checks() });
// Any message asks for the processor time so far.
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  tell({ processorMs: (user + system) / 1000 });
});

/** Sends the bytes of a check back, and reads nothing of them. */
async function echo(): Promise<number> {
  const server = new Server();
  const codec = { requestSerialize: sameBytes, requestDeserialize: sameBytes };
  const answers = { responseSerialize: sameBytes, responseDeserialize: sameBytes };
  server.addService(
    { echo: { path: METHODS.unary, requestStream: false, responseStream: false, ...codec, ...answers } },
    {
      echo: (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => callback(null, call.request),
    },
  );
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

/** The service as `headgate serve` starts it, with counters in memory. */
async function checks(): Promise<number> {
  const settings: Settings = {
    http: { host: "127.0.0.1", port: 0 },
    grpc: { host: "127.0.0.1", port: 0 },
    data,
    redis: undefined,
    postgres: undefined,
    zookeeper: undefined,
    rules: undefined,
    adminKey: KEY,
    tls: undefined,
    insecure: false,
    logLevel: "error",
    skewBoundMs: 1_000,
    nodes: 1,
  };
  const { url, grpcAddress } = await serve(settings, await makeLog(settings, (line) => process.stderr.write(line)));
  for (const rule of [RULE, { ...RULE, rule_id: "denied", endpoint_pattern: CHECK.denied, limit: 1 }]) {
    const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
    const response = await fetch(`${url}/api/v1/rules`, { method: "POST", headers, body: JSON.stringify(rule) });
    if (response.status !== 201) throw new Error(await response.text());
  }
  if (grpcAddress === undefined) throw new Error("it does not listen");
  return Number(grpcAddress.split(":").at(-1));
}

function tell(message: FromGrpc): void {
  process.send?.(message);
}
