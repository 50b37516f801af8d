import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";

const RETRY_MS = 200;

interface Heard {
  readonly wake: () => void;
  readonly lost: () => void;
}

/** Listens on a channel over its own connection, which is restored whenever it breaks. */
export class PostgresListener {
  private readonly stop = new AbortController();
  private readonly running: Promise<void>;

  constructor(settings: pg.ClientConfig, channel: string, heard: Heard) {
    this.running = this.run(settings, channel, heard);
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.running;
  }

  private async run(settings: pg.ClientConfig, channel: string, { wake, lost }: Heard): Promise<void> {
    const { signal } = this.stop;
    const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      const client = new pg.Client(settings);
      const broken = new Promise<void>((resolve) => {
        client.once("end", resolve);
        // If the problem persists, the next attempt reports it.
        client.on("error", () => resolve());
      });
      client.on("notification", wake);
      const listening = client.connect().then(async () => {
        await client.query(`listen ${client.escapeIdentifier(channel)}`);
        // Earlier announcements were missed, and the server may be a different one.
        if (attempt > 0) lost();
        await broken;
      });
      // If the server is not up yet, the next attempt finds it.
      await Promise.race([stopped, listening.catch(() => {})]);
      await client.end().catch(() => {});
      await delay(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }
}
