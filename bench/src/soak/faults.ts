import { setTimeout as delay } from "node:timers/promises";
import type { RedisServer } from "headgate-testkit/redis-server";
import type { NodeProcess } from "headgate-testkit/service-process";
import { childrenOf } from "../run/process-figures.ts";
import { ruleBody, soakRules } from "./rules.ts";

/** What faults can be done to. */
interface Target {
  readonly node: NodeProcess;
  readonly redis: RedisServer;
  /** A number from 0 to 1, from the seed. */
  readonly random: () => number;
}

interface Fault {
  readonly name: string;
  /** Whether counters are lost with it. */
  readonly loses: boolean;
  /** Whether calls in progress may fail. */
  readonly breaksCalls: boolean;
  /** Whether it needs `--workers`. */
  readonly needsWorkers?: true;
  inject(target: Target): Promise<void>;
}

export const soakFaults: readonly Fault[] = [
  {
    name: "Redis frozen",
    loses: false,
    breaksCalls: false,
    async inject({ redis, random }) {
      redis.pause();
      await delay(200 + 3_800 * random());
      redis.resume();
    },
  },
  {
    name: "Redis killed",
    loses: true,
    breaksCalls: false,
    async inject({ redis, random }) {
      await redis.kill();
      await delay(2_000 * random());
      await redis.start();
    },
  },
  {
    name: "connections to Redis cut",
    loses: false,
    breaksCalls: false,
    inject: async ({ redis }) => void (await redis.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")),
  },
  {
    name: "scripts flushed",
    loses: false,
    breaksCalls: false,
    inject: async ({ redis }) => void (await redis.ask("SCRIPT", "FLUSH", "SYNC")),
  },
  {
    name: "rules replaced",
    loses: false,
    breaksCalls: false,
    async inject({ node, random }) {
      const other = {
        ...ruleBody(soakRules[0]),
        rule_id: "other",
        endpoint_pattern: `/other/${Math.floor(1e6 * random())}`,
      };
      const rules = [...soakRules.map(ruleBody), other];
      const response = await node.request("PUT", "/api/v1/rules", { rules });
      if (!response.ok) throw new Error(`the rules were not replaced: ${await response.text()}`);
    },
  },
  {
    name: "SIGHUP",
    loses: false,
    breaksCalls: false,
    inject: async ({ node }) => void node.child.kill("SIGHUP"),
  },
  {
    name: "a worker killed",
    loses: true,
    breaksCalls: true,
    needsWorkers: true,
    async inject({ node, random }) {
      const workers = childrenOf(node.child.pid ?? 0);
      if (workers.length === 0) throw new Error("the node has no workers");
      process.kill(workers[Math.floor(random() * workers.length)], "SIGKILL");
      await delay(1_000);
    },
  },
  {
    name: "workers restarted",
    loses: false,
    breaksCalls: true,
    needsWorkers: true,
    async inject({ node }) {
      node.child.kill("SIGUSR2");
      await delay(5_000);
    },
  },
];
