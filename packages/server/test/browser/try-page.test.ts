import { startChromium } from "headgate-testkit/chromium";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { TryPage } from "./try-page.ts";

let node: NodeProcess;
let browser: Browser;
beforeAll(async () => {
  [node, browser] = await Promise.all([startNode(), startChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await node?.end();
});

let tried: TryPage | undefined;
/** No page may make the browser complain, whatever is done on it. */
afterEach(async () => {
  const complaints = tried?.complaints;
  await tried?.close();
  expect(complaints).toEqual([]);
});

async function open(key: string, options?: BrowserContextOptions): Promise<TryPage> {
  tried = await TryPage.open(browser, node.url, options);
  await tried.giveKey(key);
  return tried;
}

it("makes a rule and has checks answered until one is refused, with the bodies that are there", async () => {
  const page = await open(node.key);
  const made = await page.route("post-api-v1-rules");
  expect(await made.send()).toMatch(/^201\s+Created\s+\d+ ms, \d+ bytes$/);
  expect(await made.body()).toMatchObject({ rule_id: "orders", limit: 5, window_seconds: 60 });
  expect(await made.headers()).toMatchObject({ location: "/api/v1/rules/orders", etag: '"1"' });

  const check = await page.route("post-api-v1-check");
  let sent = 0;
  for (let outcome = ""; !outcome.startsWith("429"); sent += 1) {
    if (sent > 30) throw new Error(`never refused: ${outcome}`);
    outcome = await check.send();
    expect(outcome).toMatch(/^(200\s+OK|429\s+Too Many Requests)\s+\d+ ms, \d+ bytes$/);
  }
  expect(sent).toBeGreaterThan(5);
  expect(await check.answers.allTextContents()).toEqual([...Array(sent - 1).fill("200"), "429"]);
  expect(await check.body()).toMatchObject({ status: 429, code: "quota_exceeded", allowed: false, rule_id: "orders" });
  expect(await check.headers()).toMatchObject({
    "content-type": "application/problem+json; charset=utf-8",
    "headgate-state": 'throttled;policy="orders"',
    "ratelimit-policy": '"orders";q=5;w=60',
    ratelimit: expect.stringMatching(/^"orders";r=0;t=\d+$/),
    "retry-after": expect.stringMatching(/^\d+$/),
  });
});

it("says what would do the same in a shell, without the key", async () => {
  const page = await open(node.key);
  const check = await page.route("post-api-v1-check");
  await check.writeBody(`{"identifier": "o'hara", "endpoint": "/free"}`);
  await check.send();
  await check.root.getByText("Same request with curl").click();
  const command = await check.root.getByLabel("curl", { exact: true }).textContent();
  expect(command).toContain(`curl -i -X POST '${node.url}/api/v1/check'`);
  expect(command).toContain(`-d '{"identifier": "o'\\''hara", "endpoint": "/free"}'`);
  expect(command).toContain("Bearer $KEY");
  expect(command).not.toContain(node.key);
});

it("shows a key that may only read what it may not do", async () => {
  const made = await node.request("POST", "/api/v1/keys", { name: "reader", roles: ["read"] });
  const { key } = (await made.json()) as { key: string };
  const page = await open(key);
  const list = await page.route("get-api-v1-rules");
  expect(await list.send()).toMatch(/^200\s+OK/);
  expect(await list.body()).toHaveProperty("rules");
  const make = await page.route("post-api-v1-rules");
  expect(await make.root.locator("summary").first().textContent()).toContain("role: write");
  expect(await make.send()).toMatch(/^403\s+Forbidden/);
  expect(await make.body()).toMatchObject({ code: "forbidden", needs: "write" });
});

it("shows what is wrong with a request as the problem that it is", async () => {
  const page = await open("");
  const check = await page.route("post-api-v1-check");
  expect(await check.send()).toMatch(/^401\s+Unauthorized/);
  await page.giveKey(node.key);
  await check.writeBody("{");
  expect(await check.send()).toMatch(/^400\s+Bad Request/);
  expect(await check.body()).toMatchObject({ code: "malformed_json" });
  await check.writeBody('{"identifier": "<img src=x onerror=alert(1)>", "colour": "red"}');
  expect(await check.send()).toMatch(/^400\s+Bad Request/);
  expect(await check.body()).toMatchObject({
    code: "validation_failed",
    errors: expect.arrayContaining([expect.objectContaining({ in: "body", field: "endpoint" })]),
  });
  expect(await check.answers.allTextContents()).toEqual(["401", "400", "400"]);
});

it("puts what was typed into paths and queries as it is", async () => {
  const page = await open(node.key);
  const user = await page.route("get-api-v1-users-user-id");
  await user.root.getByLabel("user_id").fill("a/b ü?");
  expect(await user.send()).toMatch(/^200\s+OK/);
  expect(await user.body()).toMatchObject({ user_id: "a/b ü?", version: 0 });
  const explain = await page.route("get-api-v1-explain");
  await explain.root.getByLabel("dimension").selectOption("ip");
  await explain.root.getByLabel("identifier").fill("192.0.2.7");
  expect(await explain.send()).toMatch(/^200\s+OK/);
  expect(await explain.body()).toMatchObject({ identifier: "192.0.2.7", dimension: "ip", endpoint: "/api/v1/orders" });
});

it("says so when nobody answers", async () => {
  const page = await open(node.key);
  const health = await page.route("get-healthz");
  await page.page.route("**/healthz", (route) => route.abort());
  await health.root.getByRole("button", { name: "Send" }).click();
  await health.root.getByText("No response").waitFor();
  await page.page.unroute("**/healthz");
  expect(await health.send()).toMatch(/^200\s+OK/);
  expect(page.complaints.splice(0)).toEqual([expect.stringContaining("ERR_FAILED")]);
});

it("can be used with the keyboard alone", async () => {
  const page = await open("");
  const { keyboard } = page.page;
  const focused = () => page.page.evaluate<string>("getComputedStyle(document.activeElement).outlineStyle");
  await page.page.evaluate("document.activeElement.blur()");
  await page.tabTo(".skip");
  expect(await page.judge("cutOff")).toEqual([]);
  await page.tabTo("#key");
  await keyboard.type(node.key);
  await page.tabTo("#show-key");
  await keyboard.press("Space");
  expect(await page.page.locator("#key").getAttribute("type")).toBe("text");
  await page.tabTo("a[href='#post-api-v1-check']");
  await keyboard.press("Enter");
  await page.page.locator("#post-api-v1-check > summary:focus").waitFor();
  expect(await focused()).toBe("solid");
  const check = await page.route("post-api-v1-check");
  await page.tabTo("#post-api-v1-check textarea");
  expect(await focused()).toBe("solid");
  await keyboard.press("Control+A");
  await keyboard.type('{"identifier": "keys", "endpoint": "/free"}');
  expect(await check.send(() => keyboard.press("Control+Enter"))).toMatch(/^200\s+OK/);
  await page.tabTo("#post-api-v1-check button");
  expect(await check.send(() => keyboard.press("Enter"))).toMatch(/^200\s+OK/);
  expect(await check.send(() => keyboard.press("Space"))).toMatch(/^200\s+OK/);
  await page.tabTo("#post-api-v1-check pre");
  await page.tabTo("#post-api-v1-check > summary", "Shift+Tab");
  await keyboard.press("Enter");
  await page.page.locator("#post-api-v1-check:not([open])").waitFor();
});

it("has a label for every field, and a name for all that can be pressed", async () => {
  const page = await open(node.key);
  await (await page.route("get-api-v1-rules")).send();
  await page.openAll();
  expect(await page.page.locator("input, select, textarea").count()).toBeGreaterThan(40);
  expect(await page.judge("unlabelled")).toEqual([]);
});

describe.each(["light", "dark"] as const)("in %s colours", (colorScheme) => {
  it.each([360, 768, 1280])("is legible and needs no scrolling sideways at a width of %d pixels", async (width) => {
    const page = await open(node.key, { colorScheme, viewport: { width, height: 800 } });
    const background = await page.page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    expect(background).toBe(colorScheme === "light" ? "rgb(246, 247, 249)" : "rgb(15, 19, 23)");
    const check = await page.route("post-api-v1-check");
    await check.writeBody("{");
    await check.send();
    await (await page.route("get-api-v1-rules")).send();
    await (await page.route("get-metrics")).send();
    await page.openAll();
    expect(await page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(await page.judge("cutOff")).toEqual([]);
    expect(await page.judge("faintTexts")).toEqual([]);
  });
});
