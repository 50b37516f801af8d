import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "headgate-run-";

/**
 * Puts the temporary files of this process and of those that it starts into one folder, and returns a function that
 * removes it. Folders of runs that were killed are removed, too. So nothing stays behind, whichever way a test, a
 * server or a node ends.
 */
export function collectTemporaryFiles(): () => void {
  for (const name of readdirSync(tmpdir())) {
    const [, pid] = /^headgate-run-(\d+)-\w+$/.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid))) remove(join(tmpdir(), name));
  }
  const before = process.env["TMPDIR"];
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  // PostgreSQL runs as another user when the tests run as root, and has to reach its own folder in this one.
  chmodSync(folder, 0o711);
  process.env["TMPDIR"] = folder;
  const end = (): void => {
    process.off("exit", end);
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    remove(folder);
  };
  process.on("exit", end);
  return end;
}

function remove(folder: string): void {
  // A process that is just ending may still write.
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
