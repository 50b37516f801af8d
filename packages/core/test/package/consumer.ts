import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { root } from "headgate-testkit/repository";

const run = promisify(execFile);

/** A project in a temporary folder that has the packed library installed, as it goes to the registry. */
export class Consumer {
  readonly folder = mkdtempSync(join(tmpdir(), "headgate-consumer-"));

  /** What `npm install` would do with the packed file and some of its peers, without asking anybody. */
  async install(...peers: readonly string[]): Promise<void> {
    const modules = join(this.folder, "node_modules");
    mkdirSync(modules);
    await run(process.execPath, [join(root, "scripts/pack.mjs"), this.folder, "packages/core"], {
      env: environment(),
    });
    const [packed] = readdirSync(this.folder).filter((file) => file.endsWith(".tgz"));
    await run("tar", ["-xzf", join(this.folder, packed), "-C", modules]);
    renameSync(join(modules, "package"), join(modules, "headgate"));
    // A link keeps what the peer itself needs in reach.
    for (const peer of peers) {
      mkdirSync(dirname(join(modules, peer)), { recursive: true });
      symlinkSync(join(root, "node_modules", peer), join(modules, peer));
    }
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Runs a command in the project, and answers what it printed. */
  async run(command: string, args: readonly string[]): Promise<string> {
    const { stdout } = await run(command, args, { cwd: this.folder, env: environment() }).catch((error: unknown) => {
      const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
    });
    return stdout;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Without what `npm test` itself left there: it would point npm back at this repository. */
function environment(): NodeJS.ProcessEnv {
  const own = /^(INIT_CWD|NODE_OPTIONS|VITEST.*|npm_(package|lifecycle).*|npm_config_(local_prefix|workspaces?))$/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}
