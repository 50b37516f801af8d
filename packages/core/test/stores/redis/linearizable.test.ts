import * as fc from "fast-check";
import { runs } from "headgate-testkit/repeated";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Action, gcra, type Limit } from "../../../src/index.ts";
import { limitFromSpec } from "../../../src/limits/spec.ts";
import type { RedisStore } from "../../../src/redis.ts";
import { ask } from "../conformance/context.ts";
import { longRate } from "../conformance/subjects.ts";
import { type Answered, Asker, type Request } from "./asker.ts";
import { kinds, LONG } from "./kinds.ts";
import { isLinearizable } from "./linearizability.ts";
import { useRedis } from "./redis.ts";

const CLIENTS = 5;
const LIMIT = 10;

const redis = useRedis();
const askers: Asker[] = [];
beforeAll(async () => {
  for (let i = 1; i < CLIENTS; i += 1) await redis.connect();
  askers.push(...(await Promise.all([Asker.start(redis.server.url), Asker.start(redis.server.url)])));
});
afterAll(() => {
  for (const asker of askers) asker.stop();
});

const requests: fc.Arbitrary<Request[]> = fc.array(
  fc.record({
    action: fc.constantFrom<Action>(
      "take",
      "take",
      "take",
      "take",
      "takeFirst",
      "charge",
      "peek",
      "penalize",
      "refund",
      "refund",
      "reset",
    ),
    cost: fc.integer({ min: 0, max: 6 }),
  }),
  { minLength: 5, maxLength: 15, size: "max" },
);

describe("requests of many clients on one key", () => {
  it.each(kinds)("are decided as if one by one: $name", ({ spec }) => {
    const limit = limitFromSpec(spec(LIMIT, LONG));
    const scripts = fc.array(requests, { minLength: CLIENTS, maxLength: CLIENTS });
    return fc.assert(
      fc.asyncProperty(scripts, async (list) => {
        const prefix = redis.newPrefix();
        const histories = list.map((script, i) => played(redis.store({ prefix }, redis.clients[i]), limit, script));
        expectLinearizable((await Promise.all(histories)).flat(), limit);
      }),
      runs(15),
    );
  });

  it.each(kinds)("are decided as if one by one, whichever process they come from: $name", ({ spec }) => {
    const limit = limitFromSpec(spec(LIMIT, LONG));
    return fc.assert(
      fc.asyncProperty(fc.tuple(requests, requests, requests, requests), async ([first, second, ...others]) => {
        const prefix = redis.newPrefix();
        const tell = async (asker: Asker, script: readonly Request[]): Promise<readonly Answered[]> => {
          const [{ answered }] = await asker.ask(prefix, [{ name: "api", spec: spec(LIMIT, LONG), requests: script }]);
          return answered;
        };
        const histories = await Promise.all([
          tell(askers[0], first),
          tell(askers[1], second),
          ...others.map((script, i) => played(redis.store({ prefix }, redis.clients[i]), limit, script)),
        ]);
        expectLinearizable(histories.flat(), limit);
      }),
      runs(10),
    );
  });
});

async function played(store: RedisStore, limit: Limit, script: readonly Request[]): Promise<Answered[]> {
  const rule = { name: "api", limit };
  const history: Answered[] = [];
  for (const { action, cost } of script) {
    const sent = now();
    const { allowed, remaining } = await ask(store, action, rule, "k", cost);
    history.push({ action, cost, sent, received: now() + 1, allowed, remaining });
  }
  return history;
}

function now(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

function expectLinearizable(history: readonly Answered[], limit: Limit): void {
  if (!isLinearizable(history, limit)) expect.fail(`not linearizable: ${JSON.stringify(history)}`);
}

describe("the checker", () => {
  const ten = gcra(longRate(LIMIT));

  function answered(
    action: Action,
    cost: number,
    [sent, received]: readonly [number, number],
    remaining: number,
    allowed = true,
  ): Answered {
    return { action, cost, sent, received, remaining, allowed };
  }

  it("takes a history that has an order, although requests overlap and are listed otherwise", () => {
    const history = [
      answered("peek", 1, [0, 100], 3),
      answered("take", 4, [20, 90], 6),
      answered("take", 3, [10, 80], 3),
      answered("take", 7, [5, 100], 6, false),
      answered("reset", 1, [110, 120], 10),
      answered("penalize", 12, [130, 140], 0, false),
    ];
    expect(isLinearizable(history, ten)).toBe(true);
  });

  it.each<{ what: string; history: readonly Answered[] }>([
    {
      what: "two got the last units",
      history: [answered("take", 6, [0, 10], 4), answered("take", 6, [0, 10], 4)],
    },
    {
      what: "a later request does not see an earlier one",
      history: [answered("take", 4, [0, 10], 6), answered("peek", 1, [11, 20], 10)],
    },
    {
      what: "two see two others in different orders",
      history: [
        answered("take", 1, [0, 100], 9),
        answered("penalize", 2, [0, 100], 7),
        answered("peek", 1, [10, 20], 8),
        answered("peek", 1, [30, 40], 9),
      ],
    },
    {
      what: "a denied request was charged",
      history: [
        answered("take", 8, [0, 10], 2),
        answered("take", 3, [11, 20], 2, false),
        answered("take", 2, [21, 30], 0, false),
      ],
    },
    {
      what: "what was given back was lost",
      history: [
        answered("take", 8, [0, 10], 2),
        answered("refund", 5, [11, 20], 7),
        answered("take", 7, [21, 30], 2, false),
      ],
    },
  ])("does not take one in which $what", ({ history }) => {
    expect(isLinearizable(history, ten)).toBe(false);
  });

  it("takes what it refuses one after the other if it was at the same time", () => {
    const history = [answered("take", 4, [0, 15], 6), answered("peek", 1, [11, 20], 10)];
    expect(isLinearizable(history, ten)).toBe(true);
  });
});
