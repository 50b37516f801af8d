import { join } from "node:path";
import { text } from "headgate-testkit/repository";
import { expect, it } from "vitest";

const NAMES = /^export (?:type )?\{([^}]*)\} from/gm;
const REEXPORTED = /^export \* from "(.+)";$/gm;
const DECLARED = /^export (?:declare )?(?:const|function|class|type|interface) (\w+)/gm;

/** Every name that a module exports, types included. */
function namesOf(folder: string, file: string): readonly string[] {
  const source = text(join(folder, file));
  const listed = [...source.matchAll(NAMES)].flatMap(([, names]) => names.split(","));
  return [
    ...listed.map((name) => name.trim().replace(/^type /, "")).filter((name) => name !== ""),
    ...[...source.matchAll(DECLARED)].map(([, name]) => name),
    ...[...source.matchAll(REEXPORTED)].flatMap(([, from]) => namesOf(folder, from)),
  ];
}

it("headgate exports few enough names to be read as a list: others belong to an entry point of their own", () => {
  const names = namesOf("packages/core/src", "index.ts");
  expect(names).toEqual(expect.arrayContaining(["rateLimiter", "tokenBucket", "AlgorithmName", "Decision"]));
  expect(names.length).toBeLessThan(50);
});
