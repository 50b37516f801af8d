import { serve } from "./site.mjs";

const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: serve });
console.log(`listening on ${server.port}`);
