// How stores and wrappers compose. The stores are those that the library exports, and each stack is built and checked.
import * as headgate from "headgate";
import * as redis from "headgate/redis";
import { ManualClock } from "headgate/testing";
import * as zookeeper from "headgate/zookeeper";
import { path, rect, svg, text } from "./svg.mjs";

const { cached, fixedWindow, leased, MemoryStore, rateLimiter, resilient, StoreError } = headgate;

const stores = [headgate, redis, zookeeper].flatMap((module) =>
  Object.keys(module).filter((name) => /Store$/.test(name)),
);
const [local, ...remote] = stores;
if (local !== "MemoryStore" || remote.length !== 2) throw new Error(`draw the new store: ${stores.join(", ")}`);

/** What a column shows, from the limiter down; `undefined` leaves a row empty. */
const stacks = [
  { purpose: ["one process"], boxes: [undefined, undefined, [local]] },
  { purpose: ["exact over", "many processes"], boxes: [undefined, ["resilient"], remote] },
  { purpose: ["exact, with few", "round trips"], boxes: [["leased"], ["resilient"], remote] },
  { purpose: ["nearly exact, with", "few round trips"], boxes: [["cached"], ["resilient"], remote] },
  { purpose: ["even load,", "no round trips"], boxes: [undefined, ["resilient"], [redis.split.name]] },
];

const notes = {
  [local]: "counts in memory",
  resilient: "deadline, fallback",
  leased: "spends batches",
  cached: "writes behind",
  split: "enforces a share",
};

/** The `source` of real decisions for each outermost layer. */
async function sources() {
  const clock = new ManualClock();
  const memory = new MemoryStore({ clock });
  const failing = { apply: () => Promise.reject(new StoreError("HG_STORE_UNREACHABLE", "not there")) };
  const lastSource = async (store) => {
    const limiter = rateLimiter({ rule: fixedWindow("1000/m") }, { store });
    const all = [];
    for (let count = 0; count < 20; count += 1) all.push((await limiter.check("rule", "key")).source);
    return all.at(-1);
  };
  const wrapped = {
    [local]: memory,
    resilient: resilient(failing, { onDegraded: () => {} }),
    leased: leased(resilient(memory), { clock }),
    cached: cached(resilient(memory), { clock }),
  };
  const found = {};
  for (const [name, store] of Object.entries(wrapped)) found[name] = await lastSource(store);
  return found;
}

const LEFT = 16;
const WIDTH = 688;
const COLUMN = 128;
const GAP = 12;
const BOX = 58;
const ROW = 78;
const TOP = 92;

export async function compositionFigure() {
  const decidedBy = await sources();
  const y = (row) => TOP + row * ROW;
  const x = (column) => LEFT + column * (COLUMN + GAP);
  const boundary = y(3) + 2;
  const body = [
    text(LEFT, 26, "How stores and wrappers compose", "bold"),
    rect(LEFT, 40, WIDTH, 32, "box", 6),
    text(LEFT + WIDTH / 2, 61, "rateLimiter(rules, { store })", "code middle"),
  ];
  for (const [column, { boxes, purpose }] of stacks.entries()) {
    const middle = x(column) + COLUMN / 2;
    let above = 72;
    for (const [row, names] of boxes.entries()) {
      if (names === undefined) continue;
      body.push(arrow(middle, above, y(row)), rect(x(column), y(row), COLUMN, BOX, row === 2 ? "area" : "box", 6));
      const lines = names.length > 1 ? [`${names[0]} or`, names[1]] : [names[0], notes[names[0]]];
      const source = decidedBy[names[0]];
      const first = source === undefined || names.length > 1 ? y(row) + 25 : y(row) + 18;
      body.push(
        text(middle, first, lines[0], "code middle"),
        text(middle, first + 17, lines[1], names.length > 1 ? "code middle" : "soft small middle"),
      );
      if (source !== undefined) body.push(text(middle, first + 33, `source: "${source}"`, "soft tiny middle"));
      above = y(row) + BOX;
    }
    if (boxes[2][0] !== local) body.push(arrow(middle, above, boundary + 26));
    for (const [line, words] of purpose.entries()) {
      body.push(text(middle, boundary + 88 + line * 16, words, "small middle"));
    }
  }
  const shared = x(1);
  body.push(
    path(`M${LEFT} ${boundary}H${LEFT + WIDTH}`, "edge dashed"),
    text(LEFT, boundary - 6, "this process", "soft small"),
    text(LEFT, boundary + 16, "all processes", "soft small"),
    rect(shared, boundary + 26, LEFT + WIDTH - shared, 36, "box", 6),
    text(shared + (LEFT + WIDTH - shared) / 2, boundary + 49, "Redis or ZooKeeper (split: Redis)", "middle"),
  );
  return svg({
    width: LEFT + WIDTH + LEFT,
    height: boundary + 124,
    title: "How stores and wrappers compose",
    description: stacks
      .map(
        ({ purpose, boxes }) =>
          `${purpose.join(" ")}: ${boxes
            .filter(Boolean)
            .map((names) => names.join(" or "))
            .join(" over ")}.`,
      )
      .join(" "),
    body,
  });
}

function arrow(x, from, to) {
  return path(`M${x} ${from}V${to - 1}m-4 -5l4 5l4 -5`, "edge");
}
