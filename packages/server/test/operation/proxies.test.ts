import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { CaddyServer } from "headgate-testkit/caddy-server";
import { HaproxyServer } from "headgate-testkit/haproxy-server";
import { type ProxyServer, startProxy } from "headgate-testkit/proxy-server";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";

function example(name: string): string {
  return readFileSync(new URL(`../../../../deploy/${name}`, import.meta.url), "utf8");
}

/** A configuration as it is in deploy, with the addresses and the key of the test. */
interface Places {
  readonly key: string;
  readonly headgate: string;
  readonly app: string;
}

function placed(text: string, { key, headgate, app }: Places, port: number): string {
  return text
    .replaceAll("127.0.0.1:3000", app)
    .replaceAll("127.0.0.1:8080", headgate)
    .replaceAll("YOUR_KEY", key)
    .replace("127.0.0.1:8000", `127.0.0.1:${port}`)
    .replace(/^:8000/m, `:${port}`);
}

const proxies = [
  {
    name: "Caddy",
    start: (places: Places) => startProxy((port) => new CaddyServer(port, placed(example("Caddyfile"), places, port))),
    withoutHeadgate: 502,
    hasHeadersWhenAllowed: false,
  },
  {
    name: "HAProxy",
    start: (places: Places) =>
      startProxy((port) => {
        const lua = placed(example("headgate.lua"), places, port);
        return new HaproxyServer(port, placed(example("haproxy.cfg"), places, port), lua);
      }),
    withoutHeadgate: 503,
    hasHeadersWhenAllowed: true,
  },
];

describe.each(proxies)("$name that asks Headgate about each request, as deploy has it", (proxied) => {
  let node: NodeProcess;
  let app: Server;
  let proxy: ProxyServer;
  const seen: { readonly url: string; readonly authorization: string | undefined; readonly body: string }[] = [];

  beforeAll(async () => {
    node = await startNode({ flags: ["--grpc", "off"] });
    app = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        seen.push({ url: String(request.url), authorization: request.headers.authorization, body });
        response.writeHead(request.url === "/forbidden" ? 403 : 200).end("from the app");
      });
    });
    await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
    const made = await node.request("POST", "/api/v1/keys", { name: "proxy", roles: ["check"] });
    const { key } = JSON.parse(await made.text());
    const rules = [
      { name: "Pages", endpoint_pattern: "/pages/*", limit: 3 },
      { name: "Posts", endpoint_pattern: "/posts", limit: 1, methods: ["POST"] },
    ];
    for (const rule of rules) {
      const given = { dimension: "ip", window_seconds: 3600, ...rule };
      expect((await node.request("POST", "/api/v1/rules", given)).status).toBe(201);
    }
    const { port } = app.address() as AddressInfo;
    proxy = await proxied.start({ key, headgate: new URL(node.url).host, app: `127.0.0.1:${port}` });
  });
  afterAll(async () => {
    await proxy?.stop();
    app?.close();
    await node?.end();
  });

  it("passes allowed requests and answers 429 to the others, with headers and body", async () => {
    const answers = [];
    for (let i = 0; i < 5; i += 1) answers.push(await fetch(`${proxy.url}/pages/${i}?x=1`));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
    expect(seen.map(({ url }) => url).filter((url) => url.startsWith("/pages/"))).toEqual([
      "/pages/0?x=1",
      "/pages/1?x=1",
      "/pages/2?x=1",
    ]);
    if (proxied.hasHeadersWhenAllowed) expect(answers[0].headers.get("ratelimit")).toMatch(/^"pages";r=2;/);
    const [, , , denied] = answers;
    expect(Number(denied.headers.get("retry-after"))).toBeGreaterThan(1000);
    expect(denied.headers.get("ratelimit-policy")).toMatch(/^"pages";q=3;w=3600/);
    expect(denied.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    expect(JSON.parse(await denied.text())).toMatchObject({ status: 429, "violated-policies": ["pages"] });
  });

  it("is not misled by headers that a client sends, nor by another way to write the path", async () => {
    const headers = {
      "x-headgate-identifier": "10.9.8.7",
      "x-headgate-dimension": "ip",
      "x-headgate-endpoint": "/free",
      "x-headgate-cost": "0",
      "x-headgate-key": "guessed",
      "x-original-uri": "/free",
      "x-forwarded-for": "10.9.8.7",
      "x-forwarded-uri": "/free",
      "x-forwarded-method": "OPTIONS",
    };
    expect((await fetch(`${proxy.url}/pages/1`, { headers })).status).toBe(429);
    expect((await fetch(`${proxy.url}//pages/%31`)).status).toBe(429);
  });

  it("passes on the body and the credentials of the client, and heeds the method", async () => {
    const post = () =>
      fetch(`${proxy.url}/posts`, { method: "POST", body: "a body", headers: { authorization: "Basic abc" } });
    expect((await post()).status).toBe(200);
    expect(seen.at(-1)).toEqual({ url: "/posts", authorization: "Basic abc", body: "a body" });
    expect((await post()).status).toBe(429);
    expect((await fetch(`${proxy.url}/posts`)).status).toBe(200);
    expect((await fetch(`${proxy.url}/forbidden`)).status).toBe(403);
  });

  it("refuses when Headgate is gone", async () => {
    await node.kill();
    expect((await fetch(`${proxy.url}/other`)).status).toBe(proxied.withoutHeadgate);
  });
});

it("Traefik is configured to set the key, to forward nothing else, and to hide the key from the application", () => {
  const { http } = parse(example("traefik.yaml"));
  const { routers, middlewares } = http;
  expect(routers.app.middlewares).toEqual(["headgate-key", "headgate", "without-headgate-key"]);
  const { forwardAuth } = middlewares.headgate;
  expect(forwardAuth.address).toMatch(/\/api\/v1\/auth\?from=forwarded$/);
  expect(forwardAuth).toMatchObject({ authRequestHeaders: ["X-Headgate-Key"], trustForwardHeader: false });
  expect(middlewares["headgate-key"].headers.customRequestHeaders).toEqual({ "X-Headgate-Key": "YOUR_KEY" });
  // An empty value removes a header.
  expect(middlewares["without-headgate-key"].headers.customRequestHeaders).toEqual({ "X-Headgate-Key": "" });
});
