import { dirname, resolve } from "node:path";
import { checkRules, type Dimension, fieldAt, type RuleInput, schemaProblem } from "headgate-server";
import type { TrafficModel } from "headgate-simulator";
import { parseDocument } from "yaml";
import { z } from "zod";
import { InvalidInput } from "../failure.ts";
import { openSource } from "../input/source.ts";
import { readRules } from "../rules/read-rules.ts";

const seconds = z.number().min(0).max(31_536_000);
const milliseconds = z.number().min(0).max(86_400_000);
const text = z.string().min(1).max(1_024);

const ARRIVALS = ["steady", "poisson", "bursts", "daily", "flash_crowd"];

const arrivals = z.discriminatedUnion(
  "model",
  [
    z.strictObject({ model: z.literal("steady") }),
    z.strictObject({ model: z.literal("poisson") }),
    z
      .strictObject({
        model: z.literal("bursts"),
        size: z.int().min(1).max(1_000_000),
        spread_seconds: seconds.default(0),
      })
      .transform(({ spread_seconds, ...rest }) => ({ ...rest, spreadMs: 1000 * spread_seconds })),
    z
      .strictObject({
        model: z.literal("daily"),
        peak_hour: z.number().min(0).lt(24).default(14),
        low: z.number().min(0).max(1).default(0.2),
      })
      .transform(({ peak_hour: peakHour, ...rest }) => ({ ...rest, peakHour })),
    z
      .strictObject({
        model: z.literal("flash_crowd"),
        at_seconds: seconds,
        rise_seconds: seconds.default(10),
        stay_seconds: seconds.default(60),
        fall_seconds: seconds.default(60),
        factor: z.number().min(1).max(1_000_000),
      })
      .transform(({ model, factor, ...times }) => ({
        model,
        factor,
        atMs: 1000 * times.at_seconds,
        riseMs: 1000 * times.rise_seconds,
        stayMs: 1000 * times.stay_seconds,
        fallMs: 1000 * times.fall_seconds,
      })),
  ],
  { error: `must be one of ${ARRIVALS.join(", ")}` },
);

const retries = z
  .strictObject({
    strategy: z.enum(["at_once", "retry_after", "backoff"]),
    attempts: z.int().min(1).max(1_000).default(3),
    delay_ms: z.number().min(0).max(86_400_000).default(100),
    factor: z.number().min(1).max(100).default(2),
    longest_ms: z.number().min(0).max(86_400_000).default(30_000),
    jitter: z.number().min(0).max(1).default(0),
  })
  .transform(({ delay_ms: delayMs, longest_ms: longestMs, ...rest }) => ({ ...rest, delayMs, longestMs }));

const cost = z.int().min(0);

const source = z
  .strictObject({
    name: text.regex(/^[^\p{Cc}]+$/u),
    rate: z.number().gt(0).max(10_000_000),
    keys: z.int().min(1).max(10_000_000).default(1),
    zipf: z.number().min(0).max(10).default(0),
    path: text.default("/"),
    method: text.default("GET"),
    cost: z
      .union([cost, z.tuple([cost, cost])], { error: "must be a whole number, or the least and the most as a list" })
      .default(1),
    arrivals: arrivals.default({ model: "poisson" }),
    retries: retries.optional(),
  })
  .transform(({ cost, ...rest }) => {
    const [leastCost, mostCost] = typeof cost === "number" ? [cost, cost] : cost;
    return { ...rest, leastCost, mostCost };
  });

const cluster = z
  .strictObject({
    nodes: z.int().min(1).max(1_000),
    consistency: z
      .array(z.enum(["strict", "cached", "leased", "split"]))
      .min(1)
      .optional(),
    shards: z.int().min(1).max(1_000).default(1),
    delay_ms: z.tuple([milliseconds, milliseconds]).default([0.1, 0.3]),
    slow_delay_ms: milliseconds.default(2),
    loss: z.number().min(0).max(1).default(0),
    call_us: z.number().min(0).max(1_000_000).default(15),
    timeout_ms: milliseconds.gt(0).default(250),
    pauses: z.array(z.strictObject({ node: z.int().min(0), at_seconds: seconds, for_seconds: seconds })).default([]),
    starts: z.array(z.strictObject({ at_seconds: seconds })).default([]),
    ends: z
      .array(z.strictObject({ node: z.int().min(0), at_seconds: seconds, killed: z.boolean().default(false) }))
      .default([]),
    failovers: z
      .array(
        z.strictObject({
          shard: z.int().min(0),
          at_seconds: seconds,
          for_seconds: seconds,
          loses_data: z.boolean().default(false),
        }),
      )
      .default([]),
  })
  .transform(({ consistency, nodes, shards, loss, delay_ms, pauses, starts, ends, failovers, ...rest }) => ({
    consistency,
    nodes,
    shards,
    loss,
    leastDelayMs: delay_ms[0],
    mostDelayMs: delay_ms[1],
    slowDelayMs: rest.slow_delay_ms,
    callUs: rest.call_us,
    timeoutMs: rest.timeout_ms,
    pauses: pauses.map(({ node, at_seconds, for_seconds }) => {
      return { node, atMs: 1000 * at_seconds, forMs: 1000 * for_seconds };
    }),
    starts: starts.map(({ at_seconds }) => ({ atMs: 1000 * at_seconds })),
    ends: ends.map(({ node, at_seconds, killed: isKilled }) => ({ node, atMs: 1000 * at_seconds, isKilled })),
    failovers: failovers.map(({ shard, at_seconds, for_seconds, loses_data: losesData }) => {
      return { shard, atMs: 1000 * at_seconds, forMs: 1000 * for_seconds, losesData };
    }),
  }));

const simulation = z.strictObject({
  seed: z
    .int()
    .min(0)
    .max(2 ** 31)
    .default(1),
  start: z.iso
    .datetime({ error: "must be a time in UTC, such as 2026-01-01T00:00:00Z" })
    .default("2026-01-01T00:00:00Z"),
  duration_seconds: seconds.gt(0),
  dimension: z.enum(["user", "ip", "apikey"]).default("user"),
  traffic: z.array(source).min(1).max(100),
  rules: z.union([z.string(), z.array(z.unknown())], { error: "must be a list of rules, or the name of a file" }),
  cluster: cluster.optional(),
});

export interface SimulationFile {
  readonly name: string;
  readonly model: TrafficModel;
  readonly dimension: Dimension;
  readonly rules: readonly RuleInput[];
  /** The nodes to simulate, if any. Without consistencies, it is that of the rule. */
  readonly cluster: z.output<typeof cluster> | undefined;
}

/** Reads a file that describes traffic and rules. Rules in a file of their own are looked for next to it. */
export async function readSimulation(path: string): Promise<SimulationFile> {
  const opened = await openSource(path, "FILE");
  const pieces: Buffer[] = [];
  for await (const piece of opened.read()) pieces.push(piece);
  await opened.close();
  const { name } = opened;
  const document = parseDocument(Buffer.concat(pieces).toString("utf8"));
  const [broken] = document.errors;
  if (broken !== undefined) {
    const { line = 1, col = 1 } = broken.linePos?.[0] ?? {};
    throw new InvalidInput(`${name}:${line}:${col}: ${broken.message.split("\n")[0]}`);
  }
  const read = simulation.safeParse(document.toJS(), { error: schemaProblem });
  if (!read.success) {
    const [{ path: at, message }] = read.error.issues;
    throw new InvalidInput(`${name}: ${at.length === 0 ? "" : `${fieldAt(at)}: `}${message}`);
  }
  const { seed, start, duration_seconds, dimension, traffic: sources, rules, cluster } = read.data;
  const model = { seed, start: Date.parse(start) * 1000, durationMs: 1000 * duration_seconds, sources };
  return { name, model, dimension, rules: await rulesOf(name, path, rules), cluster };
}

async function rulesOf(name: string, path: string, rules: string | readonly unknown[]): Promise<readonly RuleInput[]> {
  if (typeof rules === "string") return (await readRules(resolve(path === "-" ? "." : dirname(path), rules))).rules;
  const checked = await checkRules(JSON.stringify({ rules }));
  if (checked.problems === undefined) return checked.rules;
  const [{ field, problem }] = checked.problems;
  throw new InvalidInput(`${name}: ${field === "" ? "rules" : field}: ${problem}`);
}
