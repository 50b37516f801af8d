// A node like `headgate serve`, which reports the longest time its event loop was blocked.
import { makeLog, readSettings, serve } from "headgate-server";
import { undisturbedNow } from "../run/undisturbed-time.ts";
import { ADMIN_KEY, type FromNode } from "./stalled-node.ts";

const flags = { http: "127.0.0.1:0", grpc: "off", "log-level": "error", ...JSON.parse(process.argv[2] ?? "{}") };
const { settings } = await readSettings({ flags, env: { HEADGATE_ADMIN_KEY: ADMIN_KEY } });
const node = await serve(settings, await makeLog(settings, (line) => process.stderr.write(line)));

let last = undisturbedNow();
let longest = 0;
function look(): void {
  const now = undisturbedNow();
  longest = Math.max(longest, now - last);
  last = now;
  setTimeout(look, 1);
}
look();

function tell(message: FromNode): void {
  process.send?.(message);
}

process.on("message", () => {
  tell({ longestMs: longest });
  longest = 0;
});
process.once("disconnect", () => process.exit());
tell({ url: node.url });
