import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";

const JUDGE = new URL("./in-page.js", import.meta.url).pathname;
/** Chromium says so of every answer that is an error, whatever becomes of it. */
const REFUSED = /^Failed to load resource: the server responded with a status of [45]\d\d/;

/** The page as somebody has it before him. */
export class TryPage {
  readonly page: Page;
  /** What the browser found fault with, and what was asked of anybody but the node. */
  readonly complaints: string[] = [];

  private constructor(page: Page, url: string) {
    this.page = page;
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => {
      const isFault = message.type() === "error" || message.type() === "warning";
      const wasTried = REFUSED.test(message.text()) && message.location().url.startsWith(`${url}/api/v1/`);
      if (isFault && !wasTried) this.complaints.push(message.text());
    });
    page.on("request", (request) => {
      if (new URL(request.url()).origin !== url) this.complaints.push(`asked for ${request.url()}`);
    });
  }

  static async open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<TryPage> {
    const context = await browser.newContext(options);
    // The machine may have other things to do.
    context.setDefaultTimeout(90_000);
    await context.addInitScript({ path: JUDGE });
    const tried = new TryPage(await context.newPage(), url);
    await tried.page.goto(`${url}/docs`);
    await tried.page.locator("details.route").first().waitFor();
    return tried;
  }

  async giveKey(key: string): Promise<void> {
    await this.page.getByLabel("API key", { exact: true }).fill(key);
  }

  /** A route, by its place on the page; it is opened. */
  async route(anchor: string): Promise<TriedRoute> {
    const route = this.page.locator(`#${anchor}`);
    if ((await route.getAttribute("open")) === null) await route.locator("summary").first().click();
    await route.locator("form").waitFor();
    return new TriedRoute(route);
  }

  /** Opens all that can be opened. */
  async openAll(): Promise<void> {
    for (const kind of ["details.route", "details.more"]) {
      await this.page.evaluate(`openAll(${JSON.stringify(kind)})`);
      await this.page.locator("details.route:not(:has(form))").first().waitFor({ state: "detached" });
    }
  }

  async judge(what: "faintTexts" | "cutOff" | "unlabelled"): Promise<string[]> {
    return this.page.evaluate(`${what}()`);
  }

  /** Goes on with the Tab key until it is there. */
  async tabTo(selector: string, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
    for (let presses = 0; presses < 100; presses += 1) {
      await this.page.keyboard.press(key);
      if (await this.page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
    }
    throw new Error(`no ${key} leads to ${selector}`);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

export class TriedRoute {
  readonly root: Locator;
  readonly answers: Locator;

  constructor(root: Locator) {
    this.root = root;
    this.answers = root.locator(".earlier li");
  }

  async writeBody(text: string): Promise<void> {
    await this.root.getByLabel("Body JSON").fill(text);
  }

  /** Presses Send, and tells the status that is shown once the answer is there. */
  async send(
    press: () => Promise<void> = () => this.root.getByRole("button", { name: "Send" }).click(),
  ): Promise<string> {
    const before = await this.answers.count();
    await press();
    await this.answers.nth(before).waitFor({ state: "attached" });
    return (await this.root.locator(".outcome").textContent()) ?? "";
  }

  async body(): Promise<unknown> {
    return JSON.parse((await this.root.getByLabel("Response body").textContent()) ?? "");
  }

  async headers(): Promise<Record<string, string>> {
    const names = await this.root.locator(".headers dt").allTextContents();
    const values = await this.root.locator(".headers dd").allTextContents();
    return Object.fromEntries(names.map((name, i) => [name, values[i]]));
  }
}
