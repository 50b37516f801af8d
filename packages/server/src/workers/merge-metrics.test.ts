import { expect, it } from "vitest";
import { mergeMetrics } from "./merge-metrics.ts";

it("describes each metric once, followed by the series of all workers", () => {
  const of = (worker: number, more = ""): string =>
    `# HELP a First.\n# TYPE a counter\na{worker="${worker}"} 1\n\n# HELP b Second.\n# TYPE b gauge\nb{worker="${worker}"} 2\n${more}`;
  expect(mergeMetrics([of(0), of(1, "\n# HELP c Third.\n# TYPE c gauge\nc 3\n")])).toBe(
    [
      '# HELP a First.\n# TYPE a counter\na{worker="0"} 1\na{worker="1"} 1',
      '# HELP b Second.\n# TYPE b gauge\nb{worker="0"} 2\nb{worker="1"} 2',
      "# HELP c Third.\n# TYPE c gauge\nc 3\n",
    ].join("\n\n"),
  );
});
