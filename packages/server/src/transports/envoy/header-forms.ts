/**
 * Headers for the client: `ietf` are `RateLimit-Policy` and `RateLimit` of the IETF draft, `ratelimit` those of
 * envoyproxy/ratelimit (`RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset`).
 */
export const HEADER_FORMS = ["ietf", "ratelimit", "both", "off"] as const;
export type HeaderForms = (typeof HEADER_FORMS)[number];
