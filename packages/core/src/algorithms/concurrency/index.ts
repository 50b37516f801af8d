import { type Limit, makeSlotLimit } from "../../limits/limit.ts";
import type { SlotDefinition } from "../algorithm.ts";
import type { NoFields } from "../stated-limit.ts";
import { slots } from "./slots.ts";

const name = "concurrency";

/** Admits as many tasks at once as there are slots. A slot is free again when it is released or its lease ends. */
export const definition: SlotDefinition<typeof name, { releasable: true }, NoFields> = {
  ...slots,
  name,
  fields: {},
  traits: { releasable: true },
  build: concurrency,
  limitFrom: ({ limit, named }) => makeSlotLimit(name, limit, named),
};

/** A limit on concurrent tasks: at most `limit` slots are in use at any time. Take them with `reserve` or `run`. */
export function concurrency(limit: number): Limit<typeof name> {
  return makeSlotLimit(name, limit);
}
