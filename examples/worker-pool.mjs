// Workers that wait their turn: 4 of them share what an upstream allows, and mails leave evenly spaced.
import { leakyBucket, rateLimiter, tokenBucket } from "headgate";

const limiter = rateLimiter({
  upstream: tokenBucket("20/s", { burst: 5 }),
  mail: leakyBucket("10/s", { burst: 6 }),
});

const start = performance.now();
const say = (text) => console.log(`${Math.round(performance.now() - start)} ms: ${text}`);

// wait: resolves when the call may be made, first come, first served.
const jobs = Array.from({ length: 15 }, (_, i) => `job ${i + 1}`);
const work = async (worker) => {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    await limiter.wait("upstream", "api.example.com");
    say(`worker ${worker} does ${job}`);
  }
};
await Promise.all([1, 2, 3, 4].map(work));

// schedule: runs each task when its turn comes. The queue holds 6 mails; the others wait for room in it, unless they
// are to be dropped.
const send = async (i, options) => {
  const task = async () => say(`mail ${i} leaves`);
  const { ran, decision } = await limiter.schedule("mail", "smtp.example.com", task, options);
  if (!ran) say(`mail ${i} is dropped: the queue is full for another ${Math.ceil(decision.retryAfterMs)} ms`);
};
await Promise.all([1, 2, 3, 4, 5, 6, 7].map((i) => send(i)).concat(send(8, { whenFull: "drop" })));
