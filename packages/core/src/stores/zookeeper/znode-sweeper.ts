import { randomUUID } from "node:crypto";
import type { KnownZnodes } from "./known-znodes.ts";
import { type LeaderClock, timeOf } from "./leader-clock.ts";
import { clear, tombstoneData, tombstoneIn } from "./tombstones.ts";
import { contentsOf, tombstoneText } from "./znode-contents.ts";
import type { Places } from "./znode-names.ts";
import type { Connection } from "./zookeeper-connection.ts";

/** How long an expired znode is kept, in microseconds, in case its limit is extended. */
const MARGIN = 60_000_000;
/** How long a tombstone is kept: longer than any process caches a version, and than an unresponsive session lives. */
const TOMBSTONE_KEPT_FOR = 120_000_000;
/** How long an unused topic is kept. */
const TOPIC_KEPT_FOR = 3_600_000_000;

/** Number of znodes to read concurrently. */
const AT_ONCE = 32;

/** Deletes expired znodes. Any number of processes may do so at the same time, because deletions check versions. */
export class Sweeper {
  private readonly connection: Connection;
  private readonly known: KnownZnodes;
  private readonly places: Places;
  private readonly time: LeaderClock;

  constructor(connection: Connection, known: KnownZnodes, places: Places, time: LeaderClock) {
    this.connection = connection;
    this.known = known;
    this.places = places;
    this.time = time;
  }

  /** Returns the number of deleted znodes. */
  async sweep(): Promise<number> {
    const { limits, requests, tombstones, notifications } = this.places;
    for (const rule of await this.below(limits)) {
      for (const algorithm of await this.below(rule)) await this.each(algorithm, (path) => this.bury(path));
    }
    await this.each(requests, (path) => this.bury(path));
    await this.each(notifications, (path) => this.takeDown(path));
    return this.each(tombstones, (path) => this.clear(path));
  }

  private async below(path: string): Promise<string[]> {
    return (await this.connection.children(path)).map((name) => `${path}/${name}`);
  }

  private async each(folder: string, visit: (path: string) => Promise<boolean>): Promise<number> {
    const paths = await this.below(folder);
    let count = 0;
    for (let i = 0; i < paths.length; i += AT_ONCE) {
      const done = await Promise.all(paths.slice(i, i + AT_ONCE).map(visit));
      count += done.filter(Boolean).length;
    }
    return count;
  }

  private async bury(path: string): Promise<boolean> {
    const reading = await this.connection.read(path);
    if (reading === undefined || !this.isExpired(path, reading.data, reading.stat)) return false;
    const { version } = reading.stat;
    const tombstone = `${this.places.tombstones}/${randomUUID()}`;
    this.known.forget(path);
    await this.connection.makeParents(tombstone);
    return this.connection.commitOrConflict([
      { do: "set", path, data: tombstoneText(tombstone), version },
      { do: "create", path: tombstone, data: tombstoneData(path, version + 1, this.time.now()) },
    ]);
  }

  /** Znodes that Headgate did not write are kept. */
  private isExpired(path: string, data: Buffer, stat: Parameters<typeof contentsOf>[2]): boolean {
    try {
      const { tombstone, expires } = contentsOf(path, data, stat, this.time);
      return tombstone === undefined && expires + MARGIN <= this.time.now();
    } catch {
      return false;
    }
  }

  private async clear(path: string): Promise<boolean> {
    const reading = await this.connection.read(path);
    const tombstone = reading && tombstoneIn(reading.data);
    if (tombstone === undefined || this.time.now() - tombstone.since < TOMBSTONE_KEPT_FOR) return false;
    await clear(this.connection, path, tombstone);
    return true;
  }

  private async takeDown(path: string): Promise<boolean> {
    const reading = await this.connection.read(path);
    if (reading === undefined || this.time.now() - timeOf(reading.stat) < TOPIC_KEPT_FOR) return false;
    await this.connection.remove(path, reading.stat.version);
    return true;
  }
}
