import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../../core/test/servers/eventually.ts";
import { freePort } from "../../../core/test/servers/free-port.ts";
import { spawnMortal } from "../../../core/test/servers/mortal-process.ts";
import { type NodeProcess, startNode } from "./node-process.ts";

const example = new URL("../../../../deploy/nginx.conf", import.meta.url);

describe("nginx that asks Headgate about each request, as deploy/nginx.conf has it", () => {
  let node: NodeProcess;
  let app: Server;
  let nginx: ReturnType<typeof spawnMortal>;
  let url: string;
  const seen: string[] = [];
  const folder = mkdtempSync(join(tmpdir(), "headgate-nginx-"));

  beforeAll(async () => {
    node = await startNode({ flags: ["--grpc", "off"] });
    app = createServer((request, response) => {
      seen.push(String(request.url));
      response.writeHead(request.url === "/forbidden" ? 403 : 200).end("from the app");
    });
    await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const { key } = (await (
      await node.request("POST", "/api/v1/keys", { name: "nginx", roles: ["check"] })
    ).json()) as { key: string };
    const config = readFileSync(example, "utf8")
      .replace("127.0.0.1:3000", `127.0.0.1:${(app.address() as AddressInfo).port}`)
      .replace("127.0.0.1:8080", new URL(node.url).host)
      .replace("127.0.0.1:8000", `127.0.0.1:${port}`)
      .replace("YOUR_KEY", key);
    // Where nginx keeps things of its own is no matter of the example.
    const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    const file = join(folder, "nginx.conf");
    writeFileSync(file, config.replace("http {", `http {\n  access_log off;\n  ${places.join("\n  ")}`));
    const settings = `daemon off; master_process off; pid ${folder}/pid; error_log stderr;`;
    nginx = spawnMortal("nginx", ["-p", folder, "-c", file, "-g", settings]);
    let complaints = "";
    nginx.stderr?.setEncoding("utf8").on("data", (text) => {
      complaints += text;
    });
    await eventually("nginx answers", async () => {
      if (nginx.exitCode !== null) throw new Error(complaints);
      return (await fetch(url)).status === 200;
    });
    const rule = { name: "Pages", dimension: "ip", endpoint_pattern: "/pages/*", limit: 3, window_seconds: 3600 };
    expect((await node.request("POST", "/api/v1/rules", rule)).status).toBe(201);
  });
  afterAll(async () => {
    nginx?.kill("SIGKILL");
    app?.close();
    await node?.end();
    rmSync(folder, { recursive: true, force: true });
  });

  it("lets through what may pass and answers 429 to the rest, with the headers of the limit", async () => {
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

  it("passes on what the app says, also a 403 of its own, and asks nothing where no rule is", async () => {
    expect((await fetch(`${url}/forbidden`)).status).toBe(403);
    expect(await (await fetch(`${url}/other`)).text()).toBe("from the app");
  });

  it("refuses when Headgate is gone", async () => {
    await node.kill();
    expect((await fetch(`${url}/other`)).status).toBe(500);
  });
});
