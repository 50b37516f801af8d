import { serve } from "./site.mjs";

export default { fetch: serve };
