import type { Framework } from "./framework.ts";
import { abortingSuite } from "./suite/aborting.ts";
import { correctingSuite } from "./suite/correcting.ts";
import { identitySuite } from "./suite/identity.ts";
import { leavingStreamsSuite } from "./suite/leaving-streams.ts";
import { mistakesSuite } from "./suite/mistakes.ts";
import { storeFailureSuite } from "./suite/store-failure.ts";
import { tellingSuite } from "./suite/telling.ts";

/** What every framework's adapter must do, tried on a real server over HTTP. */
export function frameworkSuite<Request>(framework: Framework<Request>): void {
  tellingSuite(framework);
  identitySuite(framework);
  correctingSuite(framework);
  abortingSuite(framework);
  leavingStreamsSuite(framework);
  storeFailureSuite(framework);
  mistakesSuite(framework);
}
