import { describe } from "vitest";
import { actions } from "./conformance/actions.ts";
import { atomicity } from "./conformance/atomicity.ts";
import { calendars } from "./conformance/calendars.ts";
import { changedLimits } from "./conformance/changed-limits.ts";
import type { MakeStore } from "./conformance/context.ts";
import { idempotency } from "./conformance/idempotency.ts";
import { keys } from "./conformance/keys.ts";
import { numbers } from "./conformance/numbers.ts";
import { ownLimits } from "./conformance/own-limits.ts";
import { takeFirst } from "./conformance/take-first.ts";
import { timing } from "./conformance/time.ts";
import { voidRequests } from "./conformance/void-requests.ts";

/** What every store must do, whatever it is made of. `makeStore` answers one that holds nothing yet. */
export function storeConformance(name: string, makeStore: MakeStore): void {
  describe(`${name} as a store`, () => {
    actions(makeStore);
    atomicity(makeStore);
    takeFirst(makeStore);
    keys(makeStore);
    changedLimits(makeStore);
    ownLimits(makeStore);
    numbers(makeStore);
    timing(makeStore);
    calendars(makeStore);
    idempotency(makeStore);
    voidRequests(makeStore);
  });
}
