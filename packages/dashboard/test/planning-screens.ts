import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { Setting } from "./signed-in.ts";

/** An access log of an hour: one client sends far more than the others. */
function accessLog(): string {
  const lines: string[] = [];
  for (let second = 0; second < 3600; second += 5) {
    const time = new Date(Date.UTC(2026, 4, 1, 10, 0, second)).toISOString();
    const [date, clock] = [time.slice(0, 10), time.slice(11, 19)];
    const stamp = `${date.slice(8)}/May/2026:${clock} +0000`;
    const clients = ["203.0.113.9", "203.0.113.9", ...(second % 60 === 0 ? [`198.51.100.${(second / 60) % 20}`] : [])];
    for (const client of clients) lines.push(`${client} - - [${stamp}] "GET /orders HTTP/1.1" 200 12 "-" "test"`);
  }
  return `${lines.join("\n")}\nthis is not a line of a log\n`;
}

async function chooseLog(page: Page, text = accessLog()): Promise<void> {
  const file = { name: "access.log", mimeType: "text/plain", buffer: Buffer.from(text) };
  await page.getByLabel("Drop log files here").setInputFiles(file);
}

/** The screens that need no service. */
export function planningScreens(setting: Setting): void {
  describe("the playground", () => {
    it("compares all algorithms on the same traffic, and a link reproduces it", async () => {
      const dashboard = await setting.window("playground");
      const { page } = dashboard;
      await dashboard.heading("Playground");
      const table = page.getByRole("table");
      const before = await table.textContent();
      await page.getByText("Window edge").click();
      await expect.poll(() => table.textContent()).not.toBe(before);
      const row = page.getByRole("row", { name: /^token bucket/ });
      await page.getByLabel(/^Units per window/).fill("10");
      await page.getByLabel(/^Burst:/).fill("10");
      const text = (await row.textContent()) ?? "";
      expect(text).not.toBe("");
      await dashboard.looksRight();
      // With the keyboard: one more request per second in the first step.
      await page.getByLabel("Requests per second, 0 to 2 s").focus();
      await page.keyboard.press("ArrowUp");
      await page.getByText("Drawn", { exact: true }).waitFor();
      const drawn = (await row.textContent()) ?? "";
      await page.getByRole("button", { name: "Link to this" }).click();
      const link = page.url();
      expect(link).toContain("traffic=1000");
      await page.goto("about:blank");
      await page.goto(link);
      await expect.poll(() => row.textContent()).toBe(drawn);
    });

    it("keeps what a broken link asks for within bounds, and says so without traffic", async () => {
      const dashboard = await setting.window("playground?limit=999999&windowSeconds=x&traffic=0");
      const { page } = dashboard;
      await page.getByText("No traffic").waitFor();
      await page.getByText("Units per window: 200").waitFor();
      await page.getByText("Window: 10 s").waitFor();
      await dashboard.looksRight();
    });

    it("needs nothing from the service but the page, and works on after the session has ended", async () => {
      const { key, key_id } = await setting.keyWith("read");
      const dashboard = await setting.openWith(key, "playground");
      const { page } = dashboard;
      await dashboard.heading("Playground");
      await setting.node.request("DELETE", `/api/v1/keys/${key_id}`);
      const asked: string[] = [];
      page.on("request", (request) => request.url().includes("/api/") && asked.push(request.url()));
      const table = page.getByRole("table");
      const before = await table.textContent();
      await page.getByText("Window edge").click();
      await expect.poll(() => table.textContent()).not.toBe(before);
      expect(asked).toEqual([]);
    });

    it("appears as soon as a slow network has answered, and says so if the service cannot be reached", async () => {
      const dashboard = await setting.window("api");
      const { page } = dashboard;
      await dashboard.heading("API reference");
      const answers: ((isReached: boolean) => void)[] = [];
      await page.route("**/api/v1/session", async (route) => {
        const isReached = await new Promise<boolean>((resolve) => answers.push(resolve));
        await (isReached ? route.continue() : route.abort());
      });
      await dashboard.load("playground");
      await page.getByRole("status").getByText("Loading").waitFor();
      await expect.poll(() => answers.length).toBe(1);
      answers[0](false);
      await page.getByText("The service cannot be reached.").waitFor();
      await dashboard.looksRight();
      await page.getByRole("button", { name: "Try again" }).click();
      await expect.poll(() => answers.length).toBe(2);
      answers[1](true);
      await dashboard.heading("Playground");
    });
  });

  describe("a replay", () => {
    it("shows what a proposed limit would deny, by hour, rule and key, without sending the file anywhere", async () => {
      const dashboard = await setting.window("replay");
      const { page } = dashboard;
      await dashboard.heading("Replay");
      await page.getByText("Nothing replayed yet").waitFor();
      const sent: string[] = [];
      page.on("request", (request) => request.method() !== "GET" && sent.push(request.url()));
      await chooseLog(page);
      await page.getByLabel("Requests", { exact: true }).fill("0");
      await page.getByText("must be a whole number of at least 1").waitFor();
      await page.getByLabel("Requests", { exact: true }).fill("10");
      await page.getByRole("button", { name: "Replay" }).click();
      await page.getByText("of 1,501 lines of access.log were skipped").waitFor();
      const result = page.getByLabel("Result");
      await result.getByText("1,500").waitFor();
      await result.locator(".stat", { hasText: "Newly denied" }).getByText("1 key", { exact: true }).waitFor();
      await page.getByRole("row", { name: /^203\.0\.113\.9/ }).waitFor();
      expect(await page.locator("tbody button.link").count()).toBe(1);
      await dashboard.looksRight();
      await page.getByRole("button", { name: "203.0.113.9" }).click();
      await page.getByText("1,440 requests").waitFor();
      await page
        .getByRole("row", { name: /Denied/ })
        .first()
        .waitFor();
      expect(sent).toEqual([]);
    });

    it("compares with the rules of the service, and says what is wrong with a file", async () => {
      await setting.node.addRule("now", "/orders", 2, { dimension: "ip" });
      const dashboard = await setting.open("replay");
      const { page } = dashboard;
      await page.getByText("Compared with the one rule").waitFor();
      const choose = async (text: string) =>
        page.getByLabel(/Drop log files here|\.log/).setInputFiles({
          name: "other.log",
          mimeType: "text/plain",
          buffer: Buffer.from(text),
        });
      await choose("neither\nthis\nnor that\n");
      await page.getByRole("button", { name: "Replay" }).click();
      await page.getByText("The files could not be replayed").waitFor();
      await choose(accessLog());
      await page.getByLabel("Path", { exact: true }).fill("/orders");
      await page.getByLabel("Requests", { exact: true }).fill("30");
      await page.getByRole("button", { name: "Replay" }).click();
      await page.getByText("The proposal denies nothing").waitFor();
      const newly = page.getByLabel("Result").locator(".stat", { hasText: "Newly admitted" });
      await expect
        .poll(async () =>
          Number.parseInt(((await newly.locator("dd").first().textContent()) ?? "").replace(",", ""), 10),
        )
        .toBeGreaterThan(1_000);
    });

    it("waits for the rules that it compares with, on a slow network and after an error", async () => {
      const dashboard = await setting.open("api");
      const { page } = dashboard;
      await dashboard.heading("API reference");
      const answers: ((isReached: boolean) => void)[] = [];
      await page.route("**/api/v1/rules?*", async (route) => {
        const isReached = await new Promise<boolean>((resolve) => answers.push(resolve));
        await (isReached ? route.continue() : route.abort());
      });
      await dashboard.show("replay");
      await chooseLog(page);
      await page.getByText("Loading the rules of the service").waitFor();
      const replay = page.getByRole("button", { name: "Replay", exact: true });
      // Without the rules, it would seem that nothing is denied now.
      expect(await replay.isDisabled()).toBe(true);
      await expect.poll(() => answers.length).toBe(1);
      answers[0](false);
      await page.getByText("The service cannot be reached.").waitFor();
      expect(await replay.isDisabled()).toBe(true);
      await dashboard.looksRight();
      await page.getByRole("button", { name: "Try again" }).click();
      await expect.poll(() => answers.length).toBe(2);
      answers[1](true);
      await page.getByText("Compared with the one rule").waitFor();
      expect(await replay.isEnabled()).toBe(true);
    });

    it("continues without a session that was lost, says so, and keeps the files", async () => {
      const dashboard = await setting.open("api");
      const { page } = dashboard;
      await dashboard.heading("API reference");
      await page.route("**/api/v1/rules?*", (route) =>
        route.fulfill({ status: 401, json: { code: "unauthenticated", title: "A valid API key is required" } }),
      );
      await dashboard.show("replay");
      await page.getByText("Your session has ended. Sign in to compare").waitFor();
      await chooseLog(page);
      await page.getByRole("button", { name: "Replay", exact: true }).click();
      await page.getByLabel("Result").getByText("no rule applies").waitFor();
      await page.getByText("access.log", { exact: true }).waitFor();
    });

    it("says so if a file has no requests", async () => {
      const dashboard = await setting.window("replay");
      const { page } = dashboard;
      await chooseLog(page, "#Version: 1.0\n#Fields: date time c-ip cs-uri-stem cs-method\n");
      await page.getByRole("button", { name: "Replay", exact: true }).click();
      await page.getByText("The files have no requests").waitFor();
    });
  });
}
