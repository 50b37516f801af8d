import { readFileSync } from "node:fs";
import { eventually } from "headgate-testkit/eventually";
import { startRedis } from "headgate-testkit/redis-server";
import { findProgram } from "./find-program.ts";
import { type RunningPeer, startHeadgate, startRatelimit } from "./peer-processes.ts";
import { RateLimitCaller } from "./rate-limit-call.ts";

const RATELIMIT = { name: "ratelimit", variable: "RATELIMIT_BINARY" };

const CONCURRENT = 64;
const USERS = 10_000;
const ROUNDS = 7;
/** Calls in a round, not seconds: on a busy machine, a short round would measure code that is not compiled yet. */
const ROUND_CALLS = 10_000;
const WARM_UP_CALLS = 30_000;
/** Clock ticks per second in /proc: the same on every Linux. */
const TICKS = 100;

interface Measured {
  readonly checksPerCpuSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * Measures Headgate beside servers in other languages on their own protocol, in alternation. Programs that are not
 * installed are left out, and it says so.
 */
export async function peers(say: (text: string) => void, rounds = ROUNDS): Promise<string> {
  const program = findProgram(RATELIMIT);
  if (program === undefined) {
    return `envoyproxy/ratelimit: skipped, because there is no ${RATELIMIT.name} on the PATH and ${RATELIMIT.variable} names none`;
  }
  const [ours, theirs] = [await startRedis(), await startRedis()];
  const running: RunningPeer[] = [];
  try {
    running.push(await startHeadgate(ours), await startRatelimit(program, theirs));
    const [headgate, ratelimit] = running;
    const results: [Measured, Measured][] = [];
    for (const peer of running) await warmUp(peer);
    for (let round = 0; round < rounds; round += 1) {
      const pair: [Measured, Measured] = [await measure(headgate), await measure(ratelimit)];
      results.push(pair);
      say(`round ${round + 1}: ${pair.map(({ checksPerCpuSecond }) => Math.round(checksPerCpuSecond)).join(" : ")}`);
    }
    return report(results);
  } finally {
    await Promise.all(running.map((peer) => peer.end()));
    await Promise.all([ours.stop(), theirs.stop()]);
  }
}

async function warmUp({ address }: RunningPeer): Promise<void> {
  await eventually("the server answers", async () => {
    const caller = new RateLimitCaller(address);
    try {
      await caller.ask("warm");
      return true;
    } finally {
      caller.close();
    }
  });
  await load(address, WARM_UP_CALLS);
}

async function measure({ address, pid }: RunningPeer): Promise<Measured> {
  const before = cpuSeconds(pid);
  const latencies = await load(address, ROUND_CALLS);
  const used = cpuSeconds(pid) - before;
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(share * latencies.length)];
  return { checksPerCpuSecond: latencies.length / used, p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Sends one call after the other on each of several lines, and returns how long each took, in milliseconds. */
async function load(address: string, calls: number): Promise<number[]> {
  const caller = new RateLimitCaller(address);
  const latencies: number[] = [];
  let sent = 0;
  const line = async (): Promise<void> => {
    while (sent < calls) {
      sent += 1;
      const started = performance.now();
      await caller.ask(`user-${sent % USERS}`);
      latencies.push(performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, line));
  caller.close();
  return latencies;
}

/** Processor time that a process has used. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

function report(results: readonly [Measured, Measured][]): string {
  const row = (name: string, i: 0 | 1): string => {
    const all = results.map((pair) => pair[i]);
    const figures = [
      Math.round(median(all.map(({ checksPerCpuSecond }) => checksPerCpuSecond))),
      median(all.map(({ p50Ms }) => p50Ms)).toFixed(2),
      median(all.map(({ p99Ms }) => p99Ms)).toFixed(2),
    ];
    return [name, ...figures].join("  ");
  };
  const ratio = median(results.map(([a, b]) => a.checksPerCpuSecond / b.checksPerCpuSecond));
  return [
    "ShouldRateLimit, one descriptor, 64 calls at a time, counters in Redis; medians of interleaved rounds",
    "server  checks per CPU second  p50 ms  p99 ms",
    row("headgate", 0),
    row("envoyproxy/ratelimit", 1),
    `checks per CPU second, Headgate to envoyproxy/ratelimit: ${ratio.toFixed(2)}`,
  ].join("\n");
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
