import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { ServerProcess } from "./server-process.ts";

/** Starts nginx with a configuration that is made for its port, and waits until it answers. */
export async function startNginx(configFor: (port: number) => string): Promise<NginxServer> {
  const port = await freePort();
  const nginx = new NginxServer(port, configFor(port));
  try {
    await nginx.start();
    return nginx;
  } catch (error) {
    await nginx.stop();
    throw error;
  }
}

export class NginxServer extends ServerProcess {
  constructor(port: number, config: string) {
    super("nginx", port);
    // Otherwise nginx uses folders of the system.
    const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (name) => `${name}_temp_path ${this.dir}/${name};`,
    );
    writeFileSync(this.configFile, config.replace("http {", `http {\n  access_log off;\n  ${folders.join("\n  ")}`));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const settings = `daemon off; master_process off; pid ${this.dir}/pid; error_log stderr crit;`;
    this.spawn("nginx", ["-p", this.dir, "-c", this.configFile, "-g", settings]);
    await eventually("nginx answers", async () => {
      if (!this.isRunning) throw this.startFailure();
      return (await fetch(this.url)).status === 200;
    });
  }

  private get configFile(): string {
    return join(this.dir, "nginx.conf");
  }
}
