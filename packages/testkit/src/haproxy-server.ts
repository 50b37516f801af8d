import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ProxyServer } from "./proxy-server.ts";

/** HAProxy with a configuration that is made for its port, and the Lua file that it loads. */
export class HaproxyServer extends ProxyServer {
  constructor(port: number, config: string, lua: string) {
    super("HAProxy", port);
    writeFileSync(join(this.dir, "headgate.lua"), lua);
    writeFileSync(join(this.dir, "haproxy.cfg"), config);
  }

  protected launch(): void {
    this.spawn("haproxy", ["-C", this.dir, "-db", "-f", join(this.dir, "haproxy.cfg")]);
  }
}
