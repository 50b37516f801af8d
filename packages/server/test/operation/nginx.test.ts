import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type NginxServer, startNginx } from "headgate-testkit/nginx-server";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const example = new URL("../../../../deploy/nginx.conf", import.meta.url);

describe("nginx that asks Headgate about each request, as deploy/nginx.conf has it", () => {
  let node: NodeProcess;
  let app: Server;
  let nginx: NginxServer;
  let url: string;
  const seen: string[] = [];

  beforeAll(async () => {
    node = await startNode({ flags: ["--grpc", "off"] });
    app = createServer((request, response) => {
      seen.push(String(request.url));
      response.writeHead(request.url === "/forbidden" ? 403 : 200).end("from the app");
    });
    await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
    const { key } = (await (
      await node.request("POST", "/api/v1/keys", { name: "nginx", roles: ["check"] })
    ).json()) as { key: string };
    const config = readFileSync(example, "utf8")
      .replace("127.0.0.1:3000", `127.0.0.1:${(app.address() as AddressInfo).port}`)
      .replace("127.0.0.1:8080", new URL(node.url).host)
      .replace("YOUR_KEY", key);
    nginx = await startNginx((port) => config.replace("127.0.0.1:8000", `127.0.0.1:${port}`));
    url = nginx.url;
    const rule = { name: "Pages", dimension: "ip", endpoint_pattern: "/pages/*", limit: 3, window_seconds: 3600 };
    expect((await node.request("POST", "/api/v1/rules", rule)).status).toBe(201);
  });
  afterAll(async () => {
    await nginx?.stop();
    app?.close();
    await node?.end();
  });

  it("passes allowed requests and answers 429 to the others, with the headers of the limit", async () => {
    const answers = [];
    for (let i = 0; i < 5; i += 1) answers.push(await fetch(`${url}/pages/${i}?x=1`));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429]);
    expect(seen.filter((path) => path.startsWith("/pages/"))).toEqual(["/pages/0?x=1", "/pages/1?x=1", "/pages/2?x=1"]);
    expect(answers[0].headers.get("ratelimit")).toMatch(/^"pages";r=2;/);
    expect(answers[0].headers.get("ratelimit-policy")).toMatch(/^"pages";q=3;w=3600/);
    expect(Number(answers[3].headers.get("retry-after"))).toBeGreaterThan(1000);
  });

  it("is not misled by headers that a client sends, nor by another way to write the path", async () => {
    const headers = { "x-headgate-identifier": "10.9.8.7", "x-headgate-cost": "0", "x-forwarded-for": "10.9.8.7" };
    expect((await fetch(`${url}/pages/1`, { headers })).status).toBe(429);
    expect((await fetch(`${url}//pages/%31`)).status).toBe(429);
  });

  it("passes on the app's responses, including its own 403, and asks nothing where there is no rule", async () => {
    expect((await fetch(`${url}/forbidden`)).status).toBe(403);
    expect(await (await fetch(`${url}/other`)).text()).toBe("from the app");
  });

  it("refuses when Headgate is gone", async () => {
    await node.kill();
    expect((await fetch(`${url}/other`)).status).toBe(500);
  });
});
