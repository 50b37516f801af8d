import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ProxyServer, startProxy } from "./proxy-server.ts";

/** Starts nginx with a configuration that is made for its port, and waits until it answers. */
export function startNginx(configFor: (port: number) => string): Promise<NginxServer> {
  return startProxy((port) => new NginxServer(port, configFor(port)));
}

export class NginxServer extends ProxyServer {
  constructor(port: number, config: string) {
    super("nginx", port);
    // Otherwise nginx uses folders of the system.
    const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (name) => `${name}_temp_path ${this.dir}/${name};`,
    );
    writeFileSync(this.configFile, config.replace("http {", `http {\n  access_log off;\n  ${folders.join("\n  ")}`));
  }

  protected launch(): void {
    const settings = `daemon off; master_process off; pid ${this.dir}/pid; error_log stderr crit;`;
    this.spawn("nginx", ["-p", this.dir, "-c", this.configFile, "-g", settings]);
  }

  private get configFile(): string {
    return join(this.dir, "nginx.conf");
  }
}
