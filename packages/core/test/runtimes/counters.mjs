// A Worker that gives tests the store in its Durable Objects. Each object's clock is set by the requests.
import { DurableObject } from "cloudflare:workers";
import { DurableObjectStore } from "headgate/durable-object";

export class Counters extends DurableObject {
  #now;
  #store = new DurableObjectStore(this.ctx.storage, {
    clock: { now: () => this.#now ?? Date.now() * 1000, sleep: () => Promise.resolve() },
  });

  reply(request, now) {
    this.#now = now;
    return this.#store.reply(request);
  }

  purge(now) {
    this.#now = now;
    return this.#store.purge();
  }
}

export default {
  async fetch(request, env) {
    const { object, now, purge, request: asked } = JSON.parse(await request.text(), fromJson);
    const counters = env.COUNTERS.getByName(object);
    const reply = purge ? await counters.purge(now) : await counters.reply(asked, now);
    return new Response(JSON.stringify(reply, toJson));
  },
};

/** JSON has no infinite numbers. */
function toJson(_name, value) {
  return value === Number.POSITIVE_INFINITY ? "Infinity" : value;
}

function fromJson(_name, value) {
  return value === "Infinity" ? Number.POSITIVE_INFINITY : value;
}
