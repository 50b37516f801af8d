import { rateLimiter, tokenBucket } from "headgate";
import { rateLimit } from "headgate/web";

const limiter = rateLimiter({ items: tokenBucket("2/d") });
const limited = rateLimit(limiter, { rules: "items", proxies: 1 });

export const GET = limited(async (request, admission, { params }) => {
  const { id } = await params;
  return Response.json({ id, search: request.nextUrl.search, left: Math.floor(admission.decided.remaining) });
});
