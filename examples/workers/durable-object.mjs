// A Cloudflare Worker with exact limits: 5 requests per minute and client, wherever the requests arrive. The counters of
// each client are in a Durable Object of their own. Start it with `npx wrangler dev` in this folder.
import { DurableObject, env } from "cloudflare:workers";
import { rateLimiter, tokenBucket } from "headgate";
import { DurableObjectStore, durableObjects } from "headgate/durable-object";
import { rateLimit } from "headgate/web";

const HOUR_MS = 3_600_000;

export class Counters extends DurableObject {
  #store = new DurableObjectStore(this.ctx.storage);

  async reply(request) {
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now() + HOUR_MS);
    return this.#store.reply(request);
  }

  // An object whose storage is empty ceases to exist, and costs nothing any more.
  async alarm() {
    if (this.#store.purge().left > 0) return this.ctx.storage.setAlarm(Date.now() + HOUR_MS);
    await this.ctx.storage.deleteAll();
    this.#store = new DurableObjectStore(this.ctx.storage);
  }
}

const store = durableObjects((key) => env.COUNTERS.getByName(key));
const limiter = rateLimiter({ api: tokenBucket("5/m") }, { store });
const limited = rateLimit(limiter, "api");

export default {
  fetch: limited((_request, admission) => new Response(`hello, ${Math.floor(admission.decided.remaining)} more\n`)),
};
