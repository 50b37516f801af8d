import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type NoticeCode, Notices, noticeCodes } from "./notices.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** The notices of a process that has not given any yet. */
async function freshNotices(): Promise<Notices> {
  return (await import("./notices.ts")).processNotices;
}

describe("a notice", () => {
  it("is given once for each code, however often the occasion comes", () => {
    const heard: unknown[] = [];
    const notices = new Notices((notice) => heard.push(notice.code));
    notices.give("HG_PROXY_NOT_TRUSTED", "first");
    notices.give("HG_PROXY_NOT_TRUSTED", "second");
    notices.give("HG_STORE_IGNORED", "third");
    expect(heard).toEqual(["HG_PROXY_NOT_TRUSTED", "HG_STORE_IGNORED"]);
  });

  it("is a warning of the process, with its code and its cause", async () => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const notices = await freshNotices();
    notices.give("HG_NO_CLIENT_ADDRESS", "here");
    notices.give("HG_STORE_IGNORED", "there", new Error("gone"));
    expect(emitWarning.mock.calls).toEqual([
      [expect.stringMatching(/^here: /), { type: "HeadgateWarning", code: "HG_NO_CLIENT_ADDRESS" }],
      [expect.stringMatching(/^there: /), { type: "HeadgateWarning", code: "HG_STORE_IGNORED", detail: "Error: gone" }],
    ]);
  });

  it("goes to the console if there is no process object", async () => {
    const notices = await freshNotices();
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    vi.stubGlobal("process", undefined);
    notices.give("HG_NO_CLIENT_ADDRESS", "here");
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/^HeadgateWarning \[HG_NO_CLIENT_ADDRESS\]: here: /)]]);
  });
});

describe("the documentation", () => {
  it.each(Object.keys(noticeCodes))("explains %s where the notice says", (code) => {
    const [, path, anchor] = /See (docs\/[\w/-]+\.md)#([\w-]+)$/.exec(noticeCodes[code as NoticeCode]) ?? [];
    const page = readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8");
    const anchors = [...page.matchAll(/^#+ (.+)$/gm)].map(([, title]) => title.toLowerCase().replaceAll(" ", "-"));
    expect(anchors).toContain(anchor);
    expect(page).toContain(`\`${code}\``);
  });
});
