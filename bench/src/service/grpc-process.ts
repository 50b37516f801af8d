// Serves checks over gRPC, or echoes bytes with bare grpc-js, in a separate process whose CPU time is measured.
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import { serving } from "../run/serving.ts";
import { METHODS, sameBytes } from "./grpc-requests.ts";
import { startNode } from "./node.ts";
import { GRPC_ECHO } from "./subjects.ts";

const [subject] = process.argv.slice(2);
serving(subject === GRPC_ECHO ? await echo() : await checks());

async function checks(): Promise<number> {
  const {
    addresses: { grpc },
  } = await startNode();
  if (grpc === undefined) throw new Error("it does not listen");
  return Number(grpc.split(":").at(-1));
}

/** Echoes the bytes of a check without parsing them. */
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
