import { gcra, rateLimiter } from "headgate";
import { LIMIT, WINDOW_MS } from "./server.ts";

/** The same before every framework; to be imported only by who measures it. */
export const limiter = rateLimiter({ api: gcra({ limit: LIMIT, windowMs: WINDOW_MS }) });
