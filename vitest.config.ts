import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

// Tests run the sources of every workspace, never a build that may be stale; those that need the
// shipped files (the command line, the packed library) get a fresh build from the global set-up.
const source = { resolve: { conditions: ["source"] }, ssr: { resolve: { conditions: ["source"] } } };

const { HEADGATE_RUNS = "1" } = process.env;

export default defineConfig({
  ...source,
  test: {
    // A slow machine is no failure: properties and real processes take what they take.
    testTimeout: 120_000 * Math.max(1, Number(HEADGATE_RUNS)),
    hookTimeout: 120_000,
    // Many tests wait for real servers: by default one of two cores would stand idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    globalSetup: "scripts/build-for-tests.mjs",
    include: [
      "packages/*/src/**/*.test.ts",
      "packages/*/test/**/*.test.ts",
      "bench/src/**/*.test.ts",
      "test/**/*.test.ts",
    ],
  },
});
