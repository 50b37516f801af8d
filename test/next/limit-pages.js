// Copied to proxy.js, and for the test of the older convention to middleware.js.
import { rateLimiter, tokenBucket } from "headgate";
import { rateLimit } from "headgate/web";
import { NextResponse } from "next/server";

const limiter = rateLimiter({ pages: tokenBucket("2/d") });
const limited = rateLimit(limiter, { rules: "pages", proxies: 1 });

export default limited(() => NextResponse.next());

export const config = { matcher: "/pages/:path*" };
