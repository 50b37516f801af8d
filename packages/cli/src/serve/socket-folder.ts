import { lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockState, takeLock } from "headgate-server";

const PREFIX = "headgate-workers-";
const LOCK = "supervisor.lock";

/** A folder for the sockets of the workers that only this user can open, removed when this process ends. */
export async function makeSocketFolder(): Promise<string> {
  await removeLeftFolders();
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  process.once("exit", () => remove(folder));
  await takeLock(join(folder, LOCK));
  return folder;
}

/** For workers: they end when the supervisor is killed, which cannot remove the folder then. */
export function removeWithoutSupervisor(folder: string): void {
  process.once("exit", () => {
    if (!process.connected) remove(folder);
  });
}

/** Removes the folders of nodes whose processes were all killed at once. */
async function removeLeftFolders(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(tmpdir(), name);
    if (isOwn(folder) && (await lockState(join(folder, LOCK))) === "ended") remove(folder);
  }
}

/** Other users can create folders here, too, and could replace their contents while they are being removed. */
function isOwn(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.();
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
