// Four workers share the rate limit of an upstream API, and mails are sent at a constant rate.
import { leakyBucket, rateLimiter, tokenBucket } from "headgate";

const limiter = rateLimiter({
  upstream: tokenBucket("20/s", { burst: 5 }),
  mail: leakyBucket("10/s", { burst: 6 }),
});

const start = performance.now();
const say = (text) => console.log(`${Math.round(performance.now() - start)} ms: ${text}`);

// wait: resolves when the call may be made. Callers are served in order.
const jobs = Array.from({ length: 15 }, (_, i) => `job ${i + 1}`);
const work = async (worker) => {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
    await limiter.wait("upstream", "api.example.com");
    say(`worker ${worker} does ${job}`);
  }
};
await Promise.all([1, 2, 3, 4].map(work));

// schedule: runs each task when its turn comes. The queue holds 6 mails; the others wait for room.
const eight = [1, 2, 3, 4, 5, 6, 7, 8];
const send = (i) => limiter.schedule("mail", "smtp.example.com", async () => say(`mail ${i} leaves`));
await Promise.all(eight.map(send));

// With whenFull: "drop", a task that finds the queue full is not run, and the result says so.
const notify = async (i) => {
  const task = async () => say(`notification ${i} leaves`);
  const { ran } = await limiter.schedule("mail", "push.example.com", task, { whenFull: "drop" });
  if (!ran) say(`notification ${i} is dropped`);
};
await Promise.all(eight.map(notify));
