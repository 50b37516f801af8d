import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Tests run the sources of every workspace, never a build that may be stale; those that need the
// shipped files (the command line, the packed library) get a fresh build from the global set-up.
const source = { resolve: { conditions: ["source"] }, ssr: { resolve: { conditions: ["source"] } } };

const { HEADGATE_RUNS = "1" } = process.env;

/**
 * Tests of code that keeps no state outside its objects. They share the processes of the workers: starting one and
 * importing the sources takes half a second, longer than most of these files run.
 */
const together = [
  "packages/*/src/**/*.test.ts",
  "packages/core/test/middleware/**/*.test.ts",
  "packages/core/test/wrappers/{cached,resilient}/**/*.test.ts",
  "packages/server/test/{access,checks,runtime,transports}/**/*.test.ts",
  "bench/src/**/*.test.ts",
];

/**
 * Tests that replace modules (`vi.mock`), watch the memory of their process, start servers under load, or let weeks
 * pass on a fake clock: a timer that another file has left would be run millions of times.
 */
const alone = [
  "packages/core/src/clock/system-clock.test.ts",
  "packages/cli/src/json/object-stream.test.ts",
  "packages/server/src/rules/parse-in-worker.test.ts",
  "packages/server/test/rules/thread-traffic.test.ts",
  "packages/core/src/stores/memory/release.test.ts",
  "packages/core/test/middleware/frameworks/{express-4,koa-2,nest-10,platform}.test.ts",
  "packages/core/test/wrappers/{cached,resilient}/real-*.test.ts",
  "packages/server/test/transports/rest/large-replacement.test.ts",
];

/** Runs the tests that start servers first, so that the run does not end with one worker waiting for another. */
class ServersFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFirst = ({ project }: TestSpecification): boolean => project.name !== "together";
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))];
  }
}

const each = {
  // A slow machine is no failure: properties and real processes take what they take.
  testTimeout: 120_000 * Math.max(1, Number(HEADGATE_RUNS)),
  hookTimeout: 120_000,
};

export default defineConfig({
  test: {
    // Many tests wait for real servers: one worker per core would leave the cores idle.
    maxWorkers: availableParallelism() + 1,
    globalSetup: "scripts/build-for-tests.mjs",
    sequence: { sequencer: ServersFirst },
    // None extends this configuration: each would run the global set-up again.
    projects: [
      { ...source, test: { ...each, name: "together", isolate: false, include: together, exclude: alone } },
      { ...source, test: { ...each, name: "alone", include: alone } },
      {
        ...source,
        test: {
          ...each,
          name: "servers",
          include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
          exclude: together,
        },
      },
    ],
  },
});
