import { expect, it } from "vitest";
import { concurrency, fixedWindow, tokenBucket } from "../algorithms/registry.ts";
import { limitFromJson } from "./limit-json.ts";

it.each([
  tokenBucket("3/s", { burst: 7 }),
  fixedWindow("5/month", { timeZone: "Europe/Berlin", anchorDay: 31 }),
  concurrency(8),
])("is the limit that was written: $algorithm", (limit) => {
  const read = limitFromJson(JSON.parse(JSON.stringify(limit)));
  expect(read).toEqual(limit);
  expect(read?.calendar).toBe(limit.calendar);
});

it.each([
  undefined,
  null,
  "x",
  {},
  { ...tokenBucket("3/s"), drain: "3" },
  { ...tokenBucket("3/s"), algorithm: "constructor" },
  { ...fixedWindow("5/month"), calendar: null },
  { ...fixedWindow("5/month"), calendar: { unit: "fortnight", timeZone: "UTC", anchorDay: 1 } },
])("is undefined for %j", (value) => {
  expect(limitFromJson(value)).toBeUndefined();
});
