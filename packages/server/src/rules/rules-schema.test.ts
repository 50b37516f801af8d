import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { z } from "zod";
import { rulesFile } from "./rules-file.ts";

const PUBLISHED = new URL("../../rules.schema.json", import.meta.url);

/** To write it anew: run this with HEADGATE_WRITE_SCHEMA=1, then `npx biome check --write packages/server/*.json`. */
it("the published JSON schema says what is read", () => {
  const schema = { title: "Rules of Headgate", ...z.toJSONSchema(rulesFile, { io: "input" }) };
  const { HEADGATE_WRITE_SCHEMA } = process.env;
  if (HEADGATE_WRITE_SCHEMA !== undefined) writeFileSync(PUBLISHED, JSON.stringify(schema));
  expect(JSON.parse(readFileSync(PUBLISHED, "utf8"))).toEqual(schema);
});
