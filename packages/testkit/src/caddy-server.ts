import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ProxyServer } from "./proxy-server.ts";

/** Caddy with a Caddyfile that is made for its port. */
export class CaddyServer extends ProxyServer {
  constructor(port: number, config: string) {
    super("Caddy", port);
    writeFileSync(join(this.dir, "Caddyfile"), config);
  }

  protected launch(): void {
    const config = ["--config", join(this.dir, "Caddyfile"), "--adapter", "caddyfile"];
    // Otherwise Caddy uses folders of the user.
    const folders = [`XDG_DATA_HOME=${this.dir}`, `XDG_CONFIG_HOME=${this.dir}`];
    this.spawn("/usr/bin/env", [...folders, "caddy", "run", ...config]);
  }
}
