import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { shareBursts } from "./share-bursts.ts";

let now = 0;
let pauseMs = 0.2;
const pause = vi.fn(() => {
  now += pauseMs;
});
const nowMs = (): number => now;
let end: (() => void) | undefined;
afterEach(() => {
  end?.();
  pause.mockClear();
  now += 10_000;
  pauseMs = 0.2;
});

/** Opens connections together, and resolves when the server has accepted all of them. */
async function accept(count: number): Promise<void> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const accepted = new Promise<void>((resolve) => {
    let left = count;
    server.on("connection", (socket) => {
      socket.destroy();
      left -= 1;
      if (left === 0) resolve();
    });
  });
  const clients = Array.from({ length: count }, () => connect(port, "127.0.0.1").on("error", () => {}));
  await accepted;
  for (const client of clients) client.destroy();
  server.close();
}

it("pauses for the other workers when connections arrive together", async () => {
  end = shareBursts(pause, nowMs);
  await accept(20);
  expect(pause).toHaveBeenCalledTimes(19);
});

it("does not pause for single connections", async () => {
  end = shareBursts(pause, nowMs);
  for (let i = 0; i < 5; i += 1) {
    now += 2;
    await accept(1);
  }
  expect(pause).not.toHaveBeenCalled();
});

it("stops pausing when the others do not take their part", async () => {
  end = shareBursts(pause, nowMs);
  pauseMs = 0.25;
  await accept(150);
  expect(pause).toHaveBeenCalledTimes(80);
  now += 1_000;
  await accept(3);
  expect(pause).toHaveBeenCalledTimes(82);
});

it("pauses for 20 ms a second at most while connections arrive all the time", async () => {
  end = shareBursts(pause, nowMs);
  pauseMs = 0.25;
  for (let i = 0; i < 10; i += 1) {
    await accept(30);
    now += 50;
  }
  expect(pause).toHaveBeenCalledTimes(80);
});

it("pauses less often on a machine so busy that pauses take long", async () => {
  end = shareBursts(pause, nowMs);
  pauseMs = 6;
  await accept(20);
  expect(pause).toHaveBeenCalledTimes(4);
});

it("can be ended", async () => {
  shareBursts(pause, nowMs)();
  await accept(20);
  expect(pause).not.toHaveBeenCalled();
});
