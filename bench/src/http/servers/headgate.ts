import { gcra, rateLimiter } from "headgate";
import { LIMIT, WINDOW_MS } from "./server.ts";

/** The same for every framework. Import it only where it is measured. */
export const limiter = rateLimiter({ api: gcra({ limit: LIMIT, windowMs: WINDOW_MS }) });
