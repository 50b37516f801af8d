import { execFileSync } from "node:child_process";
import { type Browser, chromium } from "playwright-core";

/** Starts the installed Chromium with an empty profile and without background requests to the internet. */
export async function startChromium(): Promise<Browser> {
  const executablePath = execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ];
  return chromium.launch({ executablePath, headless: true, args });
}
