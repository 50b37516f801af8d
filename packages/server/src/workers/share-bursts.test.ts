import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { shareBursts } from "./share-bursts.ts";

const pause = vi.fn();
let now = 0;
const nowMs = (): number => now;
let end: (() => void) | undefined;
afterEach(() => {
  end?.();
  pause.mockClear();
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
  await accept(150);
  expect(pause).toHaveBeenCalledTimes(100);
  now += 2;
  await accept(3);
  expect(pause).toHaveBeenCalledTimes(102);
});

it("can be ended", async () => {
  shareBursts(pause, nowMs)();
  await accept(20);
  expect(pause).not.toHaveBeenCalled();
});
