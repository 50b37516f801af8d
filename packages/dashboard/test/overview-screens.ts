import { describe, expect, it } from "vitest";
import type { Setting } from "./signed-in.ts";

/** What the service does, and its API. */
export function overviewScreens(setting: Setting): void {
  describe("the overview", () => {
    it("shows what all workers do, live, and what rules denied", async () => {
      await setting.node.addRule("busy", "/busy", 2);
      const dashboard = await setting.open("overview");
      const { page } = dashboard;
      const now = page.getByLabel("Now");
      await now.getByText("Nodes", { exact: true }).waitFor();
      await expect.poll(() => page.locator("tbody tr th.key", { hasText: "worker" }).count()).toBe(2);
      const checking = setInterval(() => void setting.node.check("eager", "/busy").catch(() => {}), 50);
      try {
        await expect
          .poll(async () => Number.parseFloat((await now.locator(".is-denied").first().textContent()) ?? "0"), {
            timeout: 30_000,
          })
          .toBeGreaterThan(0);
      } finally {
        clearInterval(checking);
      }
      // Usage figures are written every ten seconds, so they have what earlier tests did.
      await page.getByRole("row", { name: /^tight/ }).waitFor();
      await page.getByRole("row", { name: /^user-9 user/ }).waitFor();
      await page.getByText("Last 30 days").click();
      await page.getByRole("row", { name: /^tight/ }).waitFor();
      await dashboard.looksRight();
    });

    it("shows placeholders on a slow network, errors that can be retried, and recovers by itself", async () => {
      const dashboard = await setting.window("api");
      const { page } = dashboard;
      await dashboard.heading("API reference");
      let fail = true;
      const waiting: (() => void)[] = [];
      await page.route("**/api/v1/usage/summary*", async (route) => {
        if (fail) await new Promise<void>((resolve) => waiting.push(resolve));
        await (fail ? route.abort() : route.continue());
      });
      await dashboard.show("overview");
      await dashboard.signIn(setting.node.key);
      await page.getByRole("status").first().waitFor();
      await expect.poll(() => waiting.length).toBeGreaterThan(0);
      for (const proceed of waiting) proceed();
      await page.getByText("The service cannot be reached.").first().waitFor();
      fail = false;
      await page.getByRole("button", { name: "Try again" }).first().click();
      await page.getByText("The service cannot be reached.").first().waitFor({ state: "detached" });
    });
  });

  describe("the API reference", () => {
    it("sends requests with the session, and shows responses and the same with curl", async () => {
      const dashboard = await setting.open("api/post-api-v1-rules");
      const { page } = dashboard;
      const create = page.locator("#post-api-v1-rules");
      await create.getByRole("button", { name: "Send" }).click();
      await create.locator(".outcome", { hasText: "201 Created" }).waitFor();
      expect(JSON.parse((await create.getByLabel("Response body").textContent()) ?? "")).toMatchObject({
        rule_id: "orders",
      });
      await dashboard.show("api/post-api-v1-check");
      const check = page.locator("#post-api-v1-check");
      await check.locator("summary:focus").waitFor();
      await check.getByLabel("Body JSON").fill(`{"identifier": "o'hara", "endpoint": "/free"}`);
      await page.keyboard.press("Control+Enter");
      await check.locator(".outcome", { hasText: "200 OK" }).waitFor();
      await check.getByText("Same request with curl").click();
      const command = (await check.getByLabel("curl", { exact: true }).textContent()) ?? "";
      expect(command).toContain(`-d '{"identifier": "o'\\''hara", "endpoint": "/free"}'`);
      expect(command).toContain("Bearer $KEY");
      await dashboard.looksRight();
    });

    it("is open to all, puts what was typed into paths as it is, and shows errors as they are", async () => {
      const dashboard = await setting.window("api/get-api-v1-users-user-id");
      const { page } = dashboard;
      const user = page.locator("#get-api-v1-users-user-id");
      await user.getByText("needs an API key with the role read").waitFor();
      await user.getByLabel("user_id").fill("a/b ü?");
      const [request] = await Promise.all([
        page.waitForRequest(/api\/v1\/users\//),
        user.getByRole("button", { name: "Send" }).click(),
      ]);
      expect(request.url()).toBe(`${setting.node.url}/api/v1/users/a%2Fb%20%C3%BC%3F`);
      await user.getByText("Unauthorized").waitFor();
      await page.getByLabel("Search").fill("nothing like this");
      await page.getByText("No route matches").waitFor();
    });
  });
}
