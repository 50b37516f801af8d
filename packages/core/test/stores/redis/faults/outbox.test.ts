import { describe, expect, it } from "vitest";
import { fixedWindow } from "../../../../src/index.ts";
import { Batcher } from "../../../../src/stores/redis/batcher.ts";
import { Planner, type Request } from "../../../../src/stores/redis/script-request.ts";

const planner = new Planner("rl");
const rule = { name: "r", limit: fixedWindow("9/s") };

function request(key: string): Request {
  const nothing = (): void => {};
  return planner.request("take", [{ rule, key, cost: 1 }], undefined, nothing, nothing);
}

describe("the outbox", () => {
  /** An outbox to nodes named by the first letter of a key, the keys of each batch that it sent, and a way to answer all. */
  function outbox(most: number) {
    const batches: string[][] = [];
    const underWay: (() => void)[] = [];
    const keyOf = ({ operations: [{ key }] }: Request): string => key;
    const outbox = new Batcher(
      most,
      (request) => keyOf(request)[0],
      (requests, _node, ended) => {
        batches.push(requests.map(keyOf));
        underWay.push(ended);
      },
    );
    const answer = (): void => {
      for (const ended of underWay) ended();
    };
    return { add: (key: string) => outbox.add(request(key)), flush: () => outbox.flush(), batches, answer };
  }

  /** After the sockets have been read. */
  const tick = () => new Promise((resolve) => setImmediate(resolve));
  /** After the code that runs now, and all that its promises lead to. */
  const turn = () => new Promise((resolve) => process.nextTick(resolve));

  it("sends what one run of code asks for together and in order, at its end", async () => {
    const { add, batches } = outbox(64);
    for (const key of ["a1", "a2"]) add(key);
    void Promise.resolve()
      .then(() => undefined)
      .then(() => add("a3"));
    await Promise.resolve();
    expect(batches).toEqual([]);
    await turn();
    expect(batches).toEqual([["a1", "a2", "a3"]]);
  });

  it("lets requests wait for those of other sockets while a call is under way, and no longer", async () => {
    const { add, batches, answer } = outbox(64);
    add("a1");
    await turn();
    add("a2");
    await turn();
    add("a3");
    expect(batches).toEqual([["a1"]]);
    await tick();
    expect(batches).toEqual([["a1"], ["a2", "a3"]]);
    answer();
    await tick();
    add("a4");
    await turn();
    expect(batches.slice(2)).toEqual([["a4"]]);
  });

  it("sends a full batch at once, and the rest at the end of the tick", async () => {
    const { add, batches } = outbox(2);
    for (const key of ["a1", "a2", "a3", "a4", "a5"]) add(key);
    expect(batches).toEqual([
      ["a1", "a2"],
      ["a3", "a4"],
    ]);
    await tick();
    expect(batches.slice(2)).toEqual([["a5"]]);
    await tick();
    expect(batches).toHaveLength(3);
  });

  it("keeps the nodes apart, each with a bound of its own", async () => {
    const { add, batches } = outbox(2);
    for (const key of ["a1", "b1", "b2", "c1"]) add(key);
    expect(batches).toEqual([["b1", "b2"]]);
    await tick();
    expect(batches.slice(1)).toEqual([["a1"], ["c1"]]);
  });

  it("sends each on its own and at once with a bound of 1", async () => {
    const { add, batches } = outbox(1);
    for (const key of ["a1", "a2"]) add(key);
    expect(batches).toEqual([["a1"], ["a2"]]);
    await tick();
    expect(batches).toHaveLength(2);
  });

  it("sends what waits when it is flushed, and nothing of it again", async () => {
    const { add, flush, batches } = outbox(64);
    add("a1");
    add("b1");
    flush();
    expect(batches).toEqual([["a1"], ["b1"]]);
    await tick();
    expect(batches).toHaveLength(2);
  });
});
