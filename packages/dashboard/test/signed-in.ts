import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startChromium } from "headgate-testkit/chromium";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { DashboardPage } from "./dashboard-page.ts";

/** One node of two workers that records everything, and one browser, for all tests of a file. */
export class Setting {
  #redis: RedisServer | undefined;
  #node: NodeProcess | undefined;
  #browser: Browser | undefined;
  /** Signed in with the first key. It stays open, because signing in takes longer than most tests. */
  #admin: DashboardPage | undefined;
  /** Of one test. */
  #other: DashboardPage | undefined;
  readonly #recordings = mkdtempSync(join(tmpdir(), "headgate-dashboard-"));

  get node(): NodeProcess {
    if (this.#node === undefined) throw new Error("the node has not started");
    return this.#node;
  }

  async start(): Promise<void> {
    const node = async (): Promise<void> => {
      this.#redis = await startRedis();
      const recording = ["--record", this.#recordings, "--record-one-in", "1"];
      // On a busy machine, the fallback would decide what the store answers late, and both would be recorded.
      const patient = ["--store-timeout", "1000ms"];
      this.#node = await startNode({
        flags: ["--workers", "2", "--redis", this.#redis.url, ...patient, ...recording],
        env: { HEADGATE_RECORD_SECRET: "0123456789abcdef" },
      });
    };
    const browser = async (): Promise<void> => {
      this.#browser = await startChromium();
    };
    await Promise.all([node(), browser()]);
  }

  async stop(): Promise<void> {
    await this.#browser?.close();
    await this.#node?.end();
    await this.#redis?.stop();
    rmSync(this.#recordings, { recursive: true, force: true });
  }

  /** A new window, before the sign-in. It is closed after the test. */
  async window(screen: string): Promise<DashboardPage> {
    this.#other = await this.#newWindow();
    await this.#other.show(screen);
    return this.#other;
  }

  /** The window that is signed in with the first key. */
  async open(screen: string): Promise<DashboardPage> {
    if (this.#admin === undefined) {
      this.#admin = await this.#newWindow();
      await this.#signIn(this.#admin, this.node.key);
    }
    await this.#admin.showAnew(screen);
    return this.#admin;
  }

  /** A new window, signed in with another key. */
  async openWith(key: string, screen: string): Promise<DashboardPage> {
    this.#other = await this.#newWindow();
    await this.#signIn(this.#other, key);
    await this.#other.show(screen);
    return this.#other;
  }

  async keyWith(...roles: string[]): Promise<{ readonly key: string; readonly key_id: string }> {
    const made = await this.node.request("POST", "/api/v1/keys", { name: roles.join(), roles });
    return (await made.json()) as { key: string; key_id: string };
  }

  /** No screen may make the browser complain, whatever is done on it. */
  async endTest(): Promise<void> {
    const complaints = [...(this.#admin?.complaints.splice(0) ?? []), ...(this.#other?.complaints ?? [])];
    await this.#other?.close();
    this.#other = undefined;
    await this.#admin?.resetView();
    expect(complaints).toEqual([]);
  }

  async #newWindow(): Promise<DashboardPage> {
    if (this.#browser === undefined) throw new Error("the browser has not started");
    return DashboardPage.open(this.#browser, this.node.url);
  }

  async #signIn(dashboard: DashboardPage, key: string): Promise<void> {
    await dashboard.show("overview");
    await dashboard.signIn(key);
    await dashboard.heading("Overview");
  }
}

/** Starts and stops them with the tests of the file that calls it. */
export function useSetting(): Setting {
  const setting = new Setting();
  beforeAll(() => setting.start());
  afterAll(() => setting.stop());
  afterEach(() => setting.endTest());
  return setting;
}
