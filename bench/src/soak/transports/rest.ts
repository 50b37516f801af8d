import { Agent, request } from "node:http";
import type { SoakTransport } from "../transports.ts";

interface Body {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly reset_at_ms: number;
  readonly degraded: boolean;
}

const ANSWERS = [200, 429, 503];

export const rest: SoakTransport = {
  name: "rest",
  connect(node) {
    const agent = new Agent({ keepAlive: true });
    const { key, url } = node;
    return {
      check: ({ identifier, endpoint, cost, idempotencyKey }) =>
        new Promise((resolve, reject) => {
          const headers = {
            authorization: `Bearer ${key}`,
            "content-type": "application/json",
            ...(idempotencyKey !== undefined && { "x-idempotency-key": idempotencyKey }),
          };
          const call = request(`${url}/api/v1/check`, { agent, method: "POST", headers }, async (response) => {
            try {
              let text = "";
              for await (const chunk of response.setEncoding("utf8")) text += chunk;
              const { allowed, remaining, reset_at_ms, degraded }: Body = JSON.parse(text);
              if (!ANSWERS.includes(response.statusCode ?? 0) || allowed === undefined) throw new Error(text);
              resolve({ allowed, remaining, resetAtMs: reset_at_ms, degraded });
            } catch (error) {
              reject(error);
            }
          });
          call.on("error", reject);
          call.end(JSON.stringify({ identifier, endpoint, cost }));
        }),
      close: () => agent.destroy(),
    };
  },
};
