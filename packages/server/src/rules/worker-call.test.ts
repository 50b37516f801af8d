import { describe, expect, it } from "vitest";
import { askThread } from "./worker-call.ts";

function thread(script: string): URL {
  const imports = 'import { parentPort, workerData } from "node:worker_threads";';
  return new URL(`data:text/javascript,${encodeURIComponent(imports + script)}`);
}

describe("a thread that is asked", () => {
  it("answers", async () => {
    const doubling = thread("parentPort.postMessage({ answer: workerData * 2, parts: 0 });");
    expect(await askThread(doubling, 21)).toEqual({ answer: 42, parts: [] });
  });

  it("fails with its error", async () => {
    await expect(askThread(thread('throw new Error("no");'), undefined)).rejects.toThrow("no");
    await expect(askThread(thread('Promise.reject(new Error("no"));'), undefined)).rejects.toThrow("no");
  });

  it("fails if it ends without an answer", async () => {
    await expect(askThread(thread(""), undefined)).rejects.toThrow("without an answer");
  });

  it("is ended when it is given up", async () => {
    const giveUp = new AbortController();
    const never = askThread(thread("setInterval(() => {}, 1000);"), undefined, { signal: giveUp.signal });
    giveUp.abort();
    await expect(never).rejects.toMatchObject({ name: "AbortError" });
  });

  it("is not even started when it was given up before", async () => {
    const aborted = AbortSignal.abort();
    await expect(
      askThread(thread("parentPort.postMessage({ answer: 1, parts: 0 });"), undefined, { signal: aborted }),
    ).rejects.toMatchObject({
      name: "AbortError",
    });
  });

  it("fails alone when it needs more memory than it may use", async () => {
    const greedy = thread("const all = []; for (;;) all.push(new Array(1000).fill(all.length));");
    await expect(askThread(greedy, undefined, { limits: { maxOldGenerationSizeMb: 16 } })).rejects.toMatchObject({
      code: "ERR_WORKER_OUT_OF_MEMORY",
    });
  });
});
