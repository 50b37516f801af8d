import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { DIMENSIONS, dimensionOf } from "./rule.ts";
import { rulesFile } from "./rules-file-schema.ts";

const PUBLISHED = new URL("../../rules.schema.json", import.meta.url);
const published = () => JSON.parse(readFileSync(PUBLISHED, "utf8"));

/** Editors suggest the names and accept every spelling. JSON Schema has no case-insensitive patterns. */
const ANY_SPELLING = {
  anyOf: [{ enum: [...DIMENSIONS] }, { pattern: "^([Uu][Ss][Ee][Rr]|[Ii][Pp]|[Aa][Pp][Ii]_?[Kk][Ee][Yy])$" }],
};

describe("the published JSON schema", () => {
  /** To regenerate it: run this with HEADGATE_WRITE_SCHEMA=1, then `npx biome check --write packages/server/*.json`. */
  it("says what is read", () => {
    const schema = {
      title: "Rules of Headgate",
      ...z.toJSONSchema(rulesFile, {
        io: "input",
        override: ({ jsonSchema, path }) => {
          if (path.at(-1) !== "dimension") return;
          delete jsonSchema.enum;
          Object.assign(jsonSchema, ANY_SPELLING);
        },
      }),
    };
    const { HEADGATE_WRITE_SCHEMA } = process.env;
    if (HEADGATE_WRITE_SCHEMA !== undefined) writeFileSync(PUBLISHED, JSON.stringify(schema));
    expect(published()).toEqual(schema);
  });

  it.each(["user", "USER", "Ip", "IP", "apikey", "API_KEY", "Api_Key", "api-key", "users", "", "ip "])(
    "accepts the dimension %j if rules do",
    (text) => {
      const { type, anyOf, enum: names } = published().properties.rules.items.properties.dimension;
      expect([type, names]).toEqual(["string", undefined]);
      const [suggested, { pattern }] = anyOf;
      const isRead = DIMENSIONS.some((name) => name === dimensionOf(text));
      expect(suggested.enum.includes(text) || new RegExp(pattern).test(text)).toBe(isRead);
    },
  );
});
