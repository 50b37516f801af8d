import type { FastifyReply, FastifyRequest } from "fastify";

const NAME = "headgate_session";
const FORM = new RegExp(`(?:^|;\\s*)${NAME}=([^;\\s]*)`);

/** The token in the session cookie of a request. */
export function sessionTokenIn({ headers: { cookie } }: FastifyRequest): string | undefined {
  return cookie === undefined ? undefined : FORM.exec(cookie)?.[1];
}

/** Scripts cannot read the cookie, and other sites cannot send it. */
export function setSessionCookie(request: FastifyRequest, reply: FastifyReply, token: string, lifeMs: number): void {
  reply.header("set-cookie", cookie(request, token, Math.ceil(lifeMs / 1000)));
}

export function clearSessionCookie(request: FastifyRequest, reply: FastifyReply): void {
  reply.header("set-cookie", cookie(request, "", 0));
}

function cookie(request: FastifyRequest, value: string, seconds: number): string {
  const parts = [`${NAME}=${value}`, "Path=/", "HttpOnly", "SameSite=Strict", `Max-Age=${seconds}`];
  return (isSecure(request) ? [...parts, "Secure"] : parts).join("; ");
}

/** A client that lies in the header only changes its own cookie. */
function isSecure({ protocol, headers }: FastifyRequest): boolean {
  return protocol === "https" || headers["x-forwarded-proto"] === "https";
}
