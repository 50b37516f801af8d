import { describe, expect, it } from "vitest";
import { overviewScreens } from "./overview-screens.ts";
import { planningScreens } from "./planning-screens.ts";
import { reservationScreens } from "./reservation-screens.ts";
import { serviceScreens } from "./service-screens.ts";
import { useSetting } from "./signed-in.ts";
import { trialScreens } from "./trial-screens.ts";

// One node and one browser for all tests. They run in order, and begin with an empty service.
const setting = useSetting();

describe("the sign-in", () => {
  it("refuses a wrong key, and one that may not read, and says why", async () => {
    const dashboard = await setting.window("overview");
    const { page } = dashboard;
    await dashboard.signIn("hg_wrong");
    await page.getByText("This API key is not valid.").waitFor();
    await dashboard.looksRight();
    const { key } = await setting.keyWith("check");
    await dashboard.signIn(key);
    await page.getByText("requires the role read").waitFor();
  });

  it("can be used with the keyboard alone, keeps the key out of the page, and ends with a sign-out", async () => {
    const dashboard = await setting.window("overview");
    const { page } = dashboard;
    await page.getByLabel("API key").waitFor();
    await dashboard.tabTo("#key");
    await page.keyboard.type(setting.node.key);
    await page.keyboard.press("Enter");
    await dashboard.heading("Overview");
    const stored = "JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie])";
    expect(await page.evaluate(stored)).toBe('[[],[],""]');
    await dashboard.tabTo(".skip");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
    await dashboard.tabTo("a[href='#/api']");
    await page.keyboard.press("Enter");
    await dashboard.heading("API reference");
    await page.getByRole("button", { name: "Sign out" }).click();
    await dashboard.show("overview");
    await page.getByLabel("API key").waitFor();
    await page.reload();
    await page.getByLabel("API key").waitFor();
  });

  it("survives a reload, and comes back when the key is revoked, to continue where it was", async () => {
    const { key, key_id } = await setting.keyWith("read");
    const dashboard = await setting.openWith(key, "overview");
    const { page } = dashboard;
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await setting.node.request("DELETE", `/api/v1/keys/${key_id}`);
    await page.getByText("Your session has ended.").waitFor();
    await dashboard.looksRight();
    await dashboard.signIn(setting.node.key);
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  });
});

describe("an empty service", () => {
  it("says so while there is nothing to show", async () => {
    const dashboard = await setting.open("overview");
    const { page } = dashboard;
    await page.getByText("Nothing was decided in this time").waitFor();
    await page.getByText("No rule has decided anything").waitFor();
    await dashboard.looksRight();
  });
});

serviceScreens(setting);
trialScreens(setting);
reservationScreens(setting);
overviewScreens(setting);
planningScreens(setting);

describe("the address", () => {
  it("is followed, even if it changes while the page appears", async () => {
    const dashboard = await setting.window("playground");
    await dashboard.heading("Playground");
    await dashboard.page.addInitScript(`
      new MutationObserver((_, observer) => {
        if (document.querySelector("h1") === null) return;
        observer.disconnect();
        location.hash = "#/api";
      }).observe(document, { childList: true, subtree: true });
    `);
    await dashboard.load("playground");
    await dashboard.heading("API reference");
  });
});

describe("every screen that needs a session", () => {
  it.each([
    "overview",
    "rules",
    "rules/busy",
    "rules?new=1",
    "why?identifier=ann&endpoint=/busy",
    "reservations",
    "history",
  ])("waits for a slow network, and returns to the sign-in if the session is lost: %s", async (screen) => {
    const dashboard = await setting.open("api");
    const { page } = dashboard;
    await dashboard.heading("API reference");
    const held: (() => void)[] = [];
    await page.route(/\/api\/v1\/(?!session|live)/, async (route) => {
      await new Promise<void>((resolve) => held.push(resolve));
      await route.fulfill({ status: 401, json: { code: "unauthenticated", title: "A valid API key is required" } });
    });
    await dashboard.show(screen);
    await expect.poll(() => held.length).toBeGreaterThan(0);
    await page.getByRole("heading", { level: 1 }).waitFor();
    // A new rule can be entered while its first validation is on its way.
    if (screen !== "rules?new=1") await page.getByRole("status").getByText("Loading").first().waitFor();
    for (const release of held) release();
    await page.getByText("Your session has ended.").waitFor();
    expect(page.url()).toContain(`#/${screen}`);
  });
});
