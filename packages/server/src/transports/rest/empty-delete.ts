import type { FastifyInstance, onRequestHookHandler } from "fastify";
import { listed } from "./authorize.ts";

/**
 * Lets a DELETE without a body have any content type: many clients send `Content-Type: application/json` with every
 * request, and fastify would look for JSON in the empty body.
 */
export function allowEmptyDelete(app: FastifyInstance): void {
  app.addHook("onRoute", (route) => {
    if (route.method === "DELETE") route.onRequest = [...listed(route.onRequest), forgetTypeOfNothing];
  });
}

const forgetTypeOfNothing: onRequestHookHandler = ({ headers }, _reply, done) => {
  const { "content-length": length, "transfer-encoding": encoding } = headers;
  if (encoding === undefined && (length === undefined || length === "0")) delete headers["content-type"];
  done();
};
