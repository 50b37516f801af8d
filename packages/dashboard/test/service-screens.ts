import { eventually } from "headgate-testkit/eventually";
import { describe, expect, it } from "vitest";
import type { Setting } from "./signed-in.ts";

/** The screens that show and change what is in the service. */
export function serviceScreens(setting: Setting): void {
  describe("the rules", () => {
    it("begin with nothing but the way to the first rule, which is validated, reviewed and saved", async () => {
      const dashboard = await setting.open("rules");
      const { page } = dashboard;
      await page.getByText("There are no rules yet").waitFor();
      await dashboard.looksRight();
      await page.getByRole("link", { name: "New rule" }).first().click();
      await dashboard.heading("New rule");
      await page.getByLabel("Name").fill("Invoices");
      await page.getByLabel("Path").fill("/invoices/**/x");
      await page.getByLabel("Requests", { exact: true }).fill("0");
      await page.getByText("must be a whole number", { exact: false }).first().waitFor();
      await page.getByLabel("Requests", { exact: true }).fill("5");
      await page.getByText("**", { exact: false }).nth(1).waitFor();
      await dashboard.looksRight();
      await page.getByLabel("Path").fill("/invoices");
      await page.getByText("needs attention").waitFor({ state: "detached" });
      await page.getByLabel("Algorithm", { exact: true }).selectOption("fixed_window");
      await page.getByLabel("Calendar").selectOption("month");
      expect(await page.getByLabel("Per, in seconds").count()).toBe(0);
      await page.getByLabel("Time zone").fill("Nowhere/City");
      await page.getByText("One field needs attention").waitFor();
      await page.getByLabel("Time zone").fill("Europe/Berlin");
      await page.getByText("needs attention").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Review and save" }).click();
      const dialog = page.getByRole("dialog", { name: "Create this rule?" });
      await dialog.getByRole("row", { name: "limit 5" }).waitFor();
      await dashboard.looksRight();
      await dialog.getByRole("button", { name: "Save" }).click();
      await dashboard.heading("Invoices");
      await page.getByText("It decided nothing in this time").waitFor();
      const stored = await (await setting.node.request("GET", "/api/v1/rules/invoices")).json();
      expect(stored).toMatchObject({
        name: "Invoices",
        endpoint_pattern: "/invoices",
        limit: 5,
        algorithm: "fixed_window",
        window_seconds: null,
        calendar: "month",
        time_zone: "Europe/Berlin",
      });
    });

    it("can limit concurrent tasks", async () => {
      const dashboard = await setting.open("rules?new=1");
      const { page } = dashboard;
      await page.getByLabel("Name").fill("Exports");
      await page.getByLabel("Path").fill("/exports");
      await page.getByLabel("Algorithm", { exact: true }).selectOption("concurrency");
      await page.getByLabel("Tasks at the same time").fill("3");
      await dashboard.looksRight();
      await page.getByRole("button", { name: "Review and save" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await dashboard.heading("Exports");
      await page.getByText("Slots are taken by reservations", { exact: true }).waitFor();
      const stored = await (await setting.node.request("GET", "/api/v1/rules/exports")).json();
      expect(stored).toMatchObject({ algorithm: "concurrency", limit: 3, window_seconds: null });
    });

    it("show what a change would change, and do not overwrite the change of someone else", async () => {
      await setting.node.addRule("edited", "/edited", 10);
      const dashboard = await setting.open("rules/edited");
      const { page } = dashboard;
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Requests", { exact: true }).fill("20");
      await page.getByLabel("Burst on trial").fill("3");
      await page.getByText("is required").waitFor();
      await page.getByLabel("Requests on trial").fill("7");
      await page.getByLabel("Share of keys").fill("2");
      await page.getByText("must be at most 1").waitFor();
      await page.getByLabel("Share of keys").fill("0.5");
      await page.getByRole("button", { name: "Review and save" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("row", { name: "limit 10 20", exact: true }).waitFor();
      await dialog.getByRole("row", { name: "candidate.burst none 3" }).waitFor();
      await dialog.getByRole("row", { name: "enforce_share none 0.5" }).waitFor();
      expect(await dialog.getByRole("row").count()).toBe(5);
      const rule = { name: "edited", dimension: "user", endpoint_pattern: "/edited", limit: 30, window_seconds: 60 };
      await setting.node.request("PUT", "/api/v1/rules/edited", rule);
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByText("has changed", { exact: false }).first().waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByText("30 / min").waitFor();
    });

    it("are found by a search, warn of overlaps, and can be deleted", async () => {
      await setting.node.addRule("broad", "/wide/**", 10);
      await setting.node.addRule("idle", "/wide/idle", 20);
      const dashboard = await setting.open("rules");
      const { page } = dashboard;
      await page.getByText("One rule overlaps with another").click();
      await page.getByText("can never decide").waitFor();
      await dashboard.looksRight();
      await page.getByLabel("Search").fill("wide IDLE");
      await expect.poll(() => page.locator("tbody tr").count()).toBe(1);
      await page.locator("tbody").getByRole("link", { name: "idle" }).click();
      await page.getByText("can never decide").waitFor();
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await dashboard.heading("Rules");
      expect((await setting.node.request("GET", "/api/v1/rules/idle")).status).toBe(404);
      await page.getByLabel("Search").fill("nothing");
      await page.getByText("No rule matches").waitFor();
    });

    it("offer no changes to a key that may only read, and say so if there is no such rule", async () => {
      const { key } = await setting.keyWith("read");
      const dashboard = await setting.openWith(key, "rules");
      await dashboard.page.locator("tbody tr").first().waitFor();
      expect(await dashboard.page.getByRole("link", { name: "New rule" }).count()).toBe(0);
      await dashboard.show("rules/invoices");
      await dashboard.page.getByRole("heading", { name: "Try another limit" }).waitFor();
      expect(await dashboard.page.getByRole("button", { name: /trial/ }).count()).toBe(0);
      await dashboard.show("rules/nothing");
      await dashboard.page.getByText("Rule not found").waitFor();
    });
  });

  describe("the list of rules", () => {
    it("says so if it cannot be read, and can be loaded again", async () => {
      const dashboard = await setting.open("api");
      const { page } = dashboard;
      await dashboard.heading("API reference");
      await page.route("**/api/v1/rules?*", (route) => route.abort());
      await dashboard.show("rules");
      await page.getByText("The service cannot be reached.").waitFor();
      await dashboard.looksRight();
      await page.unroute("**/api/v1/rules?*");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("row", { name: /^Invoices/ }).waitFor();
    });
  });

  describe("why", () => {
    it("explains a denial, resets the usage, and overrides the limit", async () => {
      await setting.node.addRule("tight", "/tight", 2, { window_seconds: 3600 });
      for (let i = 0; i < 3; i += 1) await setting.node.check("ann", "/tight");
      const dashboard = await setting.open("why");
      const { page } = dashboard;
      await page.getByText("Whose request is it?").waitFor();
      await page.getByLabel("Identifier").fill("ann");
      await page.getByRole("button", { name: "Explain" }).click();
      await page.getByText("is required").waitFor();
      await page.getByLabel("Path").fill("/tight");
      await page.keyboard.press("Enter");
      await page.getByText("The next request is denied").waitFor();
      await page.getByText("2 of 2 in use").first().waitFor();
      await page.getByText("the rule applies to all users").waitFor();
      await dashboard.looksRight();
      await page.getByRole("button", { name: "Reset usage" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
      await page.getByText("The next request passes", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Override the limit" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Limit").fill("50");
      await dialog.getByRole("button", { name: "Override" }).click();
      await dialog.getByText("must state the reason").waitFor();
      await dashboard.looksRight();
      await dialog.getByLabel("Reason").fill("a sale");
      await dialog.getByRole("button", { name: "Override" }).click();
      await page.getByText("0 of 50 in use").first().waitFor();
      await page.getByRole("button", { name: "End it now" }).click();
      await page.getByText("0 of 2 in use").first().waitFor();
    });

    it("shows the candidate of a rule next to it", async () => {
      await setting.node.addRule("two", "/two", 10, { window_seconds: 3600, candidate: { limit: 3 } });
      for (let i = 0; i < 4; i += 1) await setting.node.check("ann", "/two");
      const dashboard = await setting.open("why?identifier=ann&endpoint=/two");
      const cards = dashboard.page.getByRole("region", { name: "two" });
      await cards.first().getByText("4 of 10 in use").first().waitFor();
      await cards.nth(1).getByText("On trial").waitFor();
      await cards.nth(1).getByText("3 of 3 in use").first().waitFor();
    });

    it("has the levels from before it was opened, if they were recorded", async () => {
      await setting.node.addRule("past", "/past", 10, { window_seconds: 3600, algorithm: "fixed_window" });
      for (let i = 0; i < 4; i += 1) await setting.node.check("bob", "/past");
      const levels = async () => {
        const response = await setting.node.request("GET", "/api/v1/rules/past/recording?identifier=bob");
        const { requests } = (await response.json()) as { requests: { remaining: number }[] };
        return requests.map(({ remaining }) => remaining).sort();
      };
      await expect.poll(levels, { timeout: 30_000 }).toEqual([6, 7, 8, 9]);
      const dashboard = await setting.open("why?identifier=bob&endpoint=/past");
      const { page } = dashboard;
      await page.getByText("4 of 10 in use").first().waitFor();
      await page.getByText("Levels from before the screen was opened are those of recorded requests.").waitFor();
      await dashboard.looksRight();
      await page.route("**/api/v1/rules/past/recording?*", async (route) => {
        const response = await route.fetch();
        await route.fulfill({ json: { ...(await response.json()), recorded: false, one_in: 100, requests: [] } });
      });
      await page.reload();
      await page.getByText("one in 100 identities is recorded, and this one is not").waitFor();
      await page.unroute("**/api/v1/rules/past/recording?*");
    });

    it("says so if no rule matches, and if the service cannot be reached", async () => {
      const dashboard = await setting.open("why?identifier=ann&endpoint=/free");
      const { page } = dashboard;
      await page.getByText("No rule matches this path").waitFor();
      await page.route("**/api/v1/explain*", (route) => route.abort());
      await page.getByText("The service cannot be reached.").waitFor();
      await page.unroute("**/api/v1/explain*");
      await page.getByText("The service cannot be reached.").waitFor({ state: "detached" });
    });
  });

  describe("the history", () => {
    it("shows who changed what, verified, and can be filtered", async () => {
      const dashboard = await setting.open("history");
      const { page } = dashboard;
      await page.getByText("The chain is intact").waitFor();
      await page.getByText("user:ann").first().waitFor();
      await dashboard.looksRight();
      await page.getByLabel("Subject").fill("rule:edited");
      await page.keyboard.press("Enter");
      // Until the filtered list arrives, the page shows the previous one, or none.
      await eventually("only the two entries of the rule are shown", async () => {
        return (await page.locator(".timeline li").count()) === 2;
      });
      await page.locator(".timeline summary", { hasText: "Rule changed" }).click();
      await page.getByRole("row", { name: "limit 10 30" }).waitFor();
      await page.getByLabel("Action").selectOption("key.revoke");
      await page.getByText("Nothing matches these filters.").waitFor();
    });

    it("says so if the chain is broken, and if it cannot be read", async () => {
      const dashboard = await setting.open("rules");
      const { page } = dashboard;
      await page.route("**/api/v1/audit/verification", (route) =>
        route.fulfill({
          json: {
            intact: false,
            entries: 3,
            begins_after: { seq: 0 },
            head: { seq: 5, hash: "x" },
            broken: [{ seq: 4, problem: "was changed" }],
          },
        }),
      );
      await page.route("**/api/v1/audit?*", (route) =>
        route.fulfill({
          status: 503,
          json: { code: "database_unavailable", title: "The database is unavailable", advice: "Wait." },
        }),
      );
      await dashboard.show("history");
      await page.getByText("The chain is broken").waitFor();
      await page.getByText("The database is unavailable").waitFor();
      await dashboard.looksRight();
    });
  });
}
