import type { TrafficRequest } from "../replay/traffic-request.ts";
import { arrivalTimes } from "./arrival-times.ts";
import { EventQueue } from "./event-queue.ts";
import { keyChoice } from "./key-choice.ts";
import { Random } from "./random.ts";
import type { TrafficModel, TrafficSource } from "./traffic-model.ts";

/** A request of a model, and which source it is of. */
export interface ModelRequest extends TrafficRequest {
  /** The index of the source in the model. */
  readonly source: number;
}

/** The first attempts of all sources, in order of time. A source does not depend on the other sources. */
export function* modelRequests({ seed, start, durationMs, sources }: TrafficModel): Generator<ModelRequest> {
  const end = start + durationMs * 1000;
  const queue = new EventQueue<{ readonly request: ModelRequest; readonly rest: Iterator<ModelRequest> }>();
  const advance = (rest: Iterator<ModelRequest>): void => {
    const { done, value } = rest.next();
    if (!done) queue.add(value.time, { request: value, rest });
  };
  for (const [i, source] of sources.entries()) advance(sourceRequests(source, i, start, end, randomOf(seed, 2 * i)));
  for (let next = queue.take(); next !== undefined; next = queue.take()) {
    yield next.request;
    advance(next.rest);
  }
}

/** Random numbers of one purpose, independent of those of others. */
export function randomOf(seed: number, purpose: number): Random {
  return new Random(Math.imul(seed, 0x85ebca6b) ^ Math.imul(purpose + 1, 0xc2b2ae35));
}

function* sourceRequests(
  source: TrafficSource,
  number: number,
  start: number,
  end: number,
  random: Random,
): Generator<ModelRequest> {
  const { name, path, method, leastCost, mostCost } = source;
  const choose = keyChoice(source, random);
  // Bursts of different keys overlap.
  const waiting = new EventQueue<ModelRequest>();
  for (const { time: first, size, apart } of arrivalTimes(source, start, end, random)) {
    while (waiting.nextAt <= first) yield taken(waiting);
    const key = `${name}-${choose()}`;
    for (let i = 0; i < size; i += 1) {
      const time = first + Math.round(i * apart);
      const cost = leastCost === mostCost ? leastCost : random.whole(leastCost, mostCost);
      if (time < end) waiting.add(time, { time, key, path, method, cost, source: number });
    }
  }
  while (waiting.nextAt < end) yield taken(waiting);
}

function taken(queue: EventQueue<ModelRequest>): ModelRequest {
  const request = queue.take();
  if (request === undefined) throw new Error("the queue is empty");
  return request;
}
