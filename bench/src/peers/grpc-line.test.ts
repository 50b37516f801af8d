import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sameBytes } from "../service/grpc-requests.ts";
import { GrpcLine, grpcRequest } from "./grpc-line.ts";
import { closedLoop } from "./line.ts";

const PATH = "/test.Service/Echo";
const server = new Server();
const metadata: string[] = [];
let port = 0;

beforeAll(async () => {
  const codec = { requestSerialize: sameBytes, requestDeserialize: sameBytes };
  const answers = { responseSerialize: sameBytes, responseDeserialize: sameBytes };
  server.addService(
    { echo: { path: PATH, requestStream: false, responseStream: false, ...codec, ...answers } },
    {
      echo(call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) {
        metadata.push(call.metadata.get("authorization").join());
        if (call.request.length === 0) callback({ code: status.UNAVAILABLE, details: "nothing was sent" });
        else callback(null, call.request);
      },
    },
  );
  port = await new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
});

afterAll(() => server.forceShutdown());

const isOne = (message: Buffer): boolean => message[0] === 1;

/** Sends messages over two connections, and returns the answers. */
async function exchange(messages: readonly Buffer[], authorization?: string): Promise<boolean[]> {
  const requests = messages.map((message) => grpcRequest(PATH, message, authorization));
  const answers: boolean[] = [];
  await closedLoop(
    (failed) => Promise.all([1, 2].map(() => GrpcLine.connect(port, isOne, failed))),
    4,
    () => requests.pop(),
    (isAdmitted) => answers.push(isAdmitted),
  );
  return answers;
}

test("each call gets its own answer, with the headers of the first", async () => {
  const answers = await exchange(
    Array.from({ length: 100 }, (_, i) => Buffer.from([i % 4])),
    "Bearer me",
  );
  expect(answers).toHaveLength(100);
  expect(answers.filter((isAdmitted) => isAdmitted)).toHaveLength(25);
  expect(metadata).toEqual(Array.from({ length: 100 }, () => "Bearer me"));
});

test("more data than the window of HTTP/2 is sent and received", async () => {
  const answers = await exchange(Array.from({ length: 100 }, () => Buffer.alloc(5_000, 1)));
  expect(answers).toEqual(Array.from({ length: 100 }, () => true));
});

test("a call that fails ends the exchange", async () => {
  await expect(exchange([Buffer.alloc(0)])).rejects.toThrow("a call failed");
});
