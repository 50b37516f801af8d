import { algorithms } from "headgate";
import { text, trackedFiles } from "headgate-testkit/repository";
import { expect, it } from "vitest";

const names = Object.values(algorithms)
  .flatMap(({ name, aliases = [] }) => [name, ...aliases])
  .join("|");

/** A name that is a whole string, a key or a property. Comments, and examples in JSON, are for people. */
const COMMENT = /^\s*(\/?\*|\/\/)/;
const NAMED = new RegExp(`(?<!"algorithm": )(["'\`])(${names})\\1|^\\s*(${names}):|\\balgorithms\\.(${names})\\b`);

/** Options of the middleware that have the name of an algorithm: they are for all limits with its trait. */
const OPTIONS = "packages/core/src/middleware/middleware-options.ts";

const files = trackedFiles("packages/*/src/*.ts", "bench/src/*.ts").filter(
  (file) =>
    file !== OPTIONS &&
    !file.startsWith("packages/core/src/algorithms/") &&
    !/\.test\.ts$|\/generated\/|^packages\/testkit\//.test(file),
);

it("production code outside of the algorithms' folders names none of them: it asks for a trait", () => {
  expect(files.length).toBeGreaterThan(100);
  const found = files.flatMap((file) =>
    text(file)
      .split("\n")
      .flatMap((line, i) => (!COMMENT.test(line) && NAMED.test(line) ? [`${file}:${i + 1}: ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});
