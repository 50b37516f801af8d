import { createServer } from "node:net";
import { expect, test } from "vitest";
import { closedLoop } from "./line.ts";
import { RespLine, respCommand } from "./resp-line.ts";

/** Sends commands to a server that answers each, byte by byte, with what `reply` returns for its last argument. */
async function exchange(values: readonly string[], reply: (value: string) => string): Promise<boolean[]> {
  const server = createServer((socket) => {
    socket.setEncoding("latin1").on("data", (text: string) => {
      for (const [, value] of text.matchAll(/\$\d+\r\nASK\r\n\$\d+\r\n(.*)\r\n/g)) {
        for (const byte of reply(value)) socket.write(byte);
      }
    });
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
  const requests = values.map((value) => respCommand("ASK", value)).reverse();
  const answers: boolean[] = [];
  try {
    await closedLoop(
      async (failed) => [await RespLine.connect(port, undefined, failed)],
      3,
      () => requests.pop(),
      (isAdmitted) => answers.push(isAdmitted),
    );
    return answers;
  } finally {
    server.close();
  }
}

test("replies are read in order, however they are cut", async () => {
  const reply = (value: string) => `*5\r\n:${value}\r\n:100\r\n:99\r\n:864\r\n:0\r\n`;
  expect(await exchange(["1", "0", "0", "1", "1"], reply)).toEqual([true, false, false, true, true]);
});

test("an error ends the exchange", async () => {
  await expect(exchange(["1"], () => "-ERR no\r\n")).rejects.toThrow("answered -");
});
