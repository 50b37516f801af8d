import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { ServerProcess } from "./server-process.ts";

/** A reverse proxy in front of an application that answers 200 at its root. */
export abstract class ProxyServer extends ServerProcess {
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts the program. */
  protected abstract launch(): void;

  /** Starts it, and waits until it answers. */
  async start(): Promise<void> {
    this.launch();
    await eventually(`${this.name} answers`, async () => {
      if (!this.isRunning) throw this.startFailure();
      return (await fetch(this.url)).status === 200;
    });
  }
}

/** Starts a proxy that is made for a free port, and waits until it answers. */
export async function startProxy<Proxy extends ProxyServer>(make: (port: number) => Proxy): Promise<Proxy> {
  const proxy = make(await freePort());
  try {
    await proxy.start();
    return proxy;
  } catch (error) {
    await proxy.stop();
    throw error;
  }
}
