import { describe, expect, it } from "vitest";
import { behaviours } from "./behaviours.ts";
import { implementations, observe, statuses } from "./observe.ts";

describe.each(Object.entries(implementations))("%s", (_name, rateLimit) => {
  it.each(behaviours)("%s, as express-rate-limit does", async (_behaviour, expected, behaviour) => {
    const theirs = await observe(behaviour);
    expect(statuses(theirs)).toEqual(expected);
    expect(await observe(behaviour, rateLimit)).toEqual(theirs);
  });
});
