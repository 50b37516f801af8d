import { describe, expect, it } from "vitest";
import type { Setting } from "./signed-in.ts";

const RECORDING = "**/api/v1/rules/*/recording?*";

/** The screen of one rule, with limits to try on what was recorded. */
export function trialScreens(setting: Setting): void {
  describe("a rule", () => {
    it("shows what another limit would have denied, and puts it on trial", async () => {
      // Of ten users, the first makes one request, the second two, and so on.
      await setting.node.addRule("tried", "/tried", 5, { window_seconds: 3_600, algorithm: "sliding_window_log" });
      const users = Array.from({ length: 10 }, (_, i) => Array.from({ length: i + 1 }, () => `user-${i}`));
      await Promise.all(users.flat().map((user) => setting.node.check(user, "/tried")));
      const recorded = async () => {
        const response = await setting.node.request("GET", "/api/v1/rules/tried/recording");
        const { requests, processes } = (await response.json()) as { requests: unknown[]; processes: number };
        return { requests: requests.length, processes };
      };
      await expect.poll(recorded, { timeout: 30_000 }).toEqual({ requests: 55, processes: 2 });

      const dashboard = await setting.open("rules/tried");
      const { page } = dashboard;
      const figures = page.getByLabel("Would be denied");
      const denied = (what: "Users" | "Requests") => figures.locator(".stat", { hasText: `${what} denied` });
      await denied("Users").getByText("5", { exact: true }).waitFor();
      await denied("Requests").getByText("15 of 55").waitFor();
      await page.getByText("This node only: checks that other nodes answered are not included.").waitFor();
      await page.getByText("in 2 recordings. All identities are recorded.").waitFor();
      await dashboard.looksRight();

      // With the mouse.
      const line = page.getByRole("slider", { name: "Limit" });
      const area = page.locator(".distribution-area");
      const { x, y, width, height } = (await area.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
      const from = (await line.boundingBox()) ?? { x: 0 };
      await page.mouse.move(from.x + 1, y + height / 2);
      await page.mouse.down();
      await page.mouse.move(x + width, y + height / 2, { steps: 4 });
      await page.mouse.up();
      await denied("Users").getByText("0", { exact: true }).waitFor();
      expect(Number(await line.getAttribute("aria-valuenow"))).toBeGreaterThanOrEqual(10);

      // With the keyboard.
      await page.getByRole("button", { name: "Reload the recording" }).focus();
      await dashboard.tabTo("[role=slider]");
      await page.keyboard.press("Home");
      await denied("Users").getByText("9", { exact: true }).waitFor();
      for (let i = 0; i < 8; i += 1) await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowLeft");
      await denied("Users").getByText("2", { exact: true }).waitFor();
      await denied("Requests").getByText("3 of 55").waitFor();
      expect(await line.getAttribute("aria-valuetext")).toBe("8: 2 of 10 users used more");

      // A burst of ten has room for all of them.
      await page.getByText("token bucket", { exact: true }).click();
      await page.getByText("another", { exact: true }).click();
      await page.getByLabel("Burst units").fill("10");
      await denied("Users").getByText("0", { exact: true }).waitFor();
      await page.getByLabel("Burst units").fill("none");
      await page.getByText("must be a whole number of at least 1").waitFor();
      await page.getByLabel("Burst units").fill("9");
      await denied("Users").getByText("1", { exact: true }).waitFor();

      await page.getByRole("button", { name: "Start a trial" }).click();
      const dialog = page.getByRole("dialog", { name: "Put this limit on trial for tried?" });
      await dialog.getByRole("row", { name: "candidate.limit none 8" }).waitFor();
      await dashboard.looksRight();
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByText("On trial: 8 / h, token bucket, burst 9").waitFor();
      const stored = async () => (await setting.node.request("GET", "/api/v1/rules/tried")).json();
      expect(await stored()).toMatchObject({ limit: 5, candidate: { limit: 8, burst: 9, algorithm: "token_bucket" } });
      await page.getByRole("button", { name: "End the trial" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByRole("button", { name: "Start a trial" }).waitFor();
      expect(await stored()).toMatchObject({ limit: 5, candidate: null });
    });

    it("says why nothing is shown: no requests, no recording, or an error that can be retried", async () => {
      await setting.node.addRule("quiet", "/quiet", 5);
      const dashboard = await setting.open("rules/quiet");
      const { page } = dashboard;
      await page.getByText("Nothing has been recorded under this rule").waitFor();
      await page.route(RECORDING, (route) => route.abort());
      await page.getByRole("button", { name: "Reload the recording" }).click();
      await page.getByText("The service cannot be reached.").waitFor();
      await page.unroute(RECORDING);
      await page.route(RECORDING, (route) =>
        route.fulfill({ json: { recording: false, scope: "node", processes: 0, requests: [] } }),
      );
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByText("This node does not record").waitFor();
      await page.getByText("The service cannot be reached.").waitFor({ state: "detached" });
      // A trial needs no recording.
      await page.getByLabel("Limit", { exact: true }).fill("4");
      expect(await page.getByRole("button", { name: "Start a trial" }).isEnabled()).toBe(true);
      await dashboard.looksRight();
    });
  });
}
