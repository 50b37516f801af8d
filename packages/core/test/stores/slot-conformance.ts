import { describe } from "vitest";
import type { MakeStore } from "./conformance/context.ts";
import { slotActions } from "./conformance/slots.ts";

/** What every store must do that can hold slots. */
export function slotConformance(name: string, makeStore: MakeStore): void {
  describe(`${name} as a store of slots`, () => {
    slotActions(makeStore);
  });
}
