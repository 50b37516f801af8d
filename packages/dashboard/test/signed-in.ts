import { startChromium } from "headgate-testkit/chromium";
import { type NodeOptions, type NodeProcess, startNode } from "headgate-testkit/service-process";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { DashboardPage } from "./dashboard-page.ts";

/** One node and one browser for all tests of a file. */
export class Setting {
  #node: NodeProcess | undefined;
  #browser: Browser | undefined;
  #open: DashboardPage | undefined;

  get node(): NodeProcess {
    if (this.#node === undefined) throw new Error("the node has not started");
    return this.#node;
  }

  async start(options: NodeOptions): Promise<void> {
    [this.#node, this.#browser] = await Promise.all([startNode(options), startChromium()]);
  }

  async stop(): Promise<void> {
    await this.#browser?.close();
    await this.#node?.end();
  }

  /** A new window, before the sign-in. It is closed after the test. */
  async window(screen: string): Promise<DashboardPage> {
    if (this.#browser === undefined) throw new Error("the browser has not started");
    this.#open = await DashboardPage.open(this.#browser, this.node.url);
    await this.#open.show(screen);
    return this.#open;
  }

  /** The same, signed in. */
  async open(screen: string, key = this.node.key): Promise<DashboardPage> {
    const dashboard = await this.window("overview");
    await dashboard.signIn(key);
    await dashboard.heading("Overview");
    await dashboard.show(screen);
    return dashboard;
  }

  async keyWith(...roles: string[]): Promise<{ readonly key: string; readonly key_id: string }> {
    const made = await this.node.request("POST", "/api/v1/keys", { name: roles.join(), roles });
    return (await made.json()) as { key: string; key_id: string };
  }

  /** No screen may make the browser complain, whatever is done on it. */
  async closeWindow(): Promise<void> {
    const complaints = this.#open?.complaints ?? [];
    await this.#open?.close();
    this.#open = undefined;
    expect(complaints).toEqual([]);
  }
}

/** Starts and stops them with the tests of the file that calls it. */
export function useSetting(options: NodeOptions = {}): Setting {
  const setting = new Setting();
  beforeAll(() => setting.start(options));
  afterAll(() => setting.stop());
  afterEach(() => setting.closeWindow());
  return setting;
}
