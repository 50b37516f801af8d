import { serve } from "./site.mjs";

Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(`listening on ${port}`) }, serve);
