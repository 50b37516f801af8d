import { AxeBuilder } from "@axe-core/playwright";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";

/** What Chromium says of every error response, whatever becomes of it. */
const ERROR_RESPONSE = /^Failed to load resource: (the server responded with a status of [45]\d\d|net::ERR_)/;

/** The names of tables that must be scrolled sideways. Only hours need not fit. */
const CUT_TABLES = `[...document.querySelectorAll(".scroll:has(> table:not(.heat))")]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map((group) => group.getAttribute("aria-label"))`;

/** The dashboard in its own window. */
export class DashboardPage {
  readonly page: Page;
  /** Errors and warnings of the browser, and requests to anything but the node. */
  readonly complaints: string[] = [];
  readonly #url: string;

  private constructor(page: Page, url: string) {
    this.page = page;
    this.#url = url;
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => {
      const isFault = message.type() === "error" || message.type() === "warning";
      if (isFault && !ERROR_RESPONSE.test(message.text())) this.complaints.push(message.text());
    });
    page.on("request", (request) => {
      const { origin, protocol } = new URL(request.url());
      if (origin !== url && protocol !== "blob:" && protocol !== "about:")
        this.complaints.push(`asked for ${request.url()}`);
    });
  }

  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<DashboardPage> {
    const context = await browser.newContext(options);
    // The machine may be busy with other things.
    context.setDefaultTimeout(60_000);
    return new DashboardPage(await context.newPage(), url);
  }

  /** Goes to a screen, such as `overview`, without loading the page again if it is open. */
  async show(screen: string): Promise<void> {
    await this.page.goto(`${this.#url}/#/${screen}`);
  }

  async signIn(key: string): Promise<void> {
    await this.page.getByLabel("API key").fill(key);
    await this.page.getByRole("button", { name: "Sign in" }).click();
  }

  async heading(name: string | RegExp): Promise<void> {
    await this.page.getByRole("heading", { level: 1, name }).waitFor();
  }

  /** The violations that axe finds, in a line each. */
  async violations(): Promise<string[]> {
    const { page } = this;
    // axe is loaded once into each document, not twice for each look at it.
    const isLoaded = (await page.evaluate("typeof axe")) !== "undefined";
    const { violations } = await new AxeBuilder({ page, ...(isLoaded && { axeSource: "0" }) })
      // In legacy mode, axe needs no page of its own. There are no frames.
      .setLegacyMode(true)
      // Every rule runs, but what is right is not described, which would take as long as all the rest.
      .options({ resultTypes: ["violations"] })
      .analyze();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
  }

  /** Nothing needs scrolling sideways, and axe finds nothing: wide and light, then narrow and dark. */
  async looksRight(): Promise<void> {
    await this.looksRightAt(1280, "light");
    await this.looksRightAt(390, "dark");
    await this.resetView();
  }

  async resetView(): Promise<void> {
    await this.page.setViewportSize({ width: 1280, height: 820 });
    await this.page.emulateMedia({ colorScheme: "light" });
  }

  private async looksRightAt(width: number, colorScheme: "light" | "dark"): Promise<void> {
    await this.page.setViewportSize({ width, height: 820 });
    await this.page.emulateMedia({ colorScheme });
    const isWide = "document.documentElement.scrollWidth > innerWidth";
    expect([width, await this.page.evaluate(isWide)]).toEqual([width, false]);
    expect([width, await this.page.evaluate(CUT_TABLES)]).toEqual([width, []]);
    expect(await this.violations()).toEqual([]);
  }

  /** The screen in a reloaded page, with nothing left of what was shown before. */
  async showAnew(screen: string): Promise<void> {
    await this.page.unrouteAll({ behavior: "ignoreErrors" });
    await this.load(screen);
  }

  /** The screen in a reloaded page, with the answers that were prepared for it. */
  async load(screen: string): Promise<void> {
    await this.page.goto("about:blank");
    await this.show(screen);
  }

  /** Presses Tab until the focus is on it. */
  async tabTo(selector: string): Promise<void> {
    for (let presses = 0; presses < 100; presses += 1) {
      await this.page.keyboard.press("Tab");
      if (await this.page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
    }
    throw new Error(`Tab does not lead to ${selector}`);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
