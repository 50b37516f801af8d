import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import fc from "fast-check";
import { type NginxServer, startNginx } from "headgate-testkit/nginx-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { trickedPaths } from "../rules/path-tricks.ts";
import { ruleOf, type Service, startService } from "../transports/rest/service.ts";

/** nginx forwards one path to what is protected, and everything else elsewhere; it asks Headgate about both. */
function configOf(listen: number, app: number, { port, keys }: Service): string {
  const ask = `
      auth_request /headgate;
      auth_request_set $policy $upstream_http_ratelimit_policy;
      add_header Counted-Under $policy always;`;
  return `
events {}
http {
  server {
    listen 127.0.0.1:${listen};
    location = /orders2 {${ask}
      proxy_pass http://127.0.0.1:${app}/protected;
    }
    location / {${ask}
      proxy_pass http://127.0.0.1:${app}/other;
    }
    location = /headgate {
      internal;
      proxy_pass http://127.0.0.1:${port}/api/v1/auth?denied=403;
      proxy_pass_request_headers off;
      proxy_pass_request_body off;
      proxy_set_header Content-Length "";
      proxy_set_header Authorization "Bearer ${keys.check}";
      proxy_set_header X-Headgate-Dimension ip;
      proxy_set_header X-Headgate-Identifier $remote_addr;
      proxy_set_header X-Headgate-Endpoint $request_uri;
    }
  }
}`;
}

interface Answer {
  readonly status: number;
  readonly isProtected: boolean;
  readonly isCounted: boolean;
}

/** Sends a request target as it is: clients would change it. */
function get(port: number, target: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`GET ${target} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n`);
    });
    socket.setEncoding("utf8").on("data", (some) => {
      text += some;
    });
    socket.on("error", reject);
    socket.on("close", () =>
      resolve({
        status: Number(text.split(" ")[1]),
        isProtected: text.includes("this is /protected"),
        isCounted: /^counted-under: "orders2"/im.test(text),
      }),
    );
  });
}

describe("nginx that forwards a protected path", () => {
  let service: Service;
  let app: Server;
  let nginx: NginxServer;
  let port: number;

  beforeAll(async () => {
    service = await startService({
      rules: [ruleOf({ rule_id: "orders2", dimension: "ip", endpoint_pattern: "/orders2", limit: 1_000_000 })],
    });
    app = createServer((request, response) => response.end(`this is ${request.url}`));
    await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
    nginx = await startNginx((port) => configOf(port, (app.address() as AddressInfo).port, service));
    port = nginx.port;
  });
  afterAll(async () => {
    await nginx?.stop();
    app?.close();
    await service?.stop();
  });

  it.each([
    "/orders2",
    "/orders2?x=%zz",
    "/x%5cy%2f../orders2",
    "/x\\y%2f../orders2",
    "/x/..//orders2",
    "/%6frders2",
    "/x%2f%2e%2e%2forders2",
    "/a/b/%2e%2e/./../orders2",
    "/orders2#/x",
    "http://shop.example/orders2",
    "HTTP://shop.example/x/../orders2",
    "//orders2",
    "/x;y/../orders2",
    "/x%00y/../orders2/../orders2",
  ])("counts %s, or nginx refuses it", async (target) => {
    const answer = await get(port, target);
    if (answer.status === 400) expect(target).toContain("%00");
    else expect(answer).toEqual({ status: 200, isProtected: true, isCounted: true });
  });

  it.each(["/other", "/orders2/x", "/100%25", "/a;v=1"])("serves %s without counting it", async (target) => {
    expect(await get(port, target)).toEqual({ status: 200, isProtected: false, isCounted: false });
  });

  it("counts every path that it forwards there, however it is written", async () => {
    const name = fc.constantFrom("x", "x\\y", "x%5cy", "x;y", "%41", "...", "x.%20", "a%252fb", "%c3%a9");
    const slash = fc.constantFrom("/", "%2f", "//", "/./", "%2F%2e/");
    const up = fc.constantFrom("..", "%2e%2e", ".%2E");
    const detour = fc.tuple(name, slash, up, slash).map((parts) => parts.join(""));
    const path = fc
      .tuple(
        fc.constantFrom("/", "//", "/%2f"),
        fc.array(detour, { maxLength: 3 }),
        fc.constantFrom("orders2", "%6frder%732"),
      )
      .map(([start, detours, end]) => start + detours.join("") + end);
    const nearlyAll = fc.sample(path, { numRuns: 150, seed: 11 });
    const some = fc.sample(trickedPaths("/orders2"), { numRuns: 150, seed: 11 });
    let reached = 0;
    for (const target of new Set([...nearlyAll, ...some])) {
      if (/[\s\u0080-\uffff]/.test(target)) continue;
      const { isProtected, isCounted } = await get(port, target);
      if (!isProtected) continue;
      reached += 1;
      expect([target, isCounted]).toEqual([target, true]);
    }
    expect(reached).toBeGreaterThan(60);
  });
});
