import type { Notifications } from "../notifications.ts";
import type { Places } from "./znode-names.ts";
import { ANY_VERSION, type Connection } from "./zookeeper-connection.ts";

type Listener = (text: string) => void;

interface Topic {
  readonly path: string;
  readonly listeners: Set<Listener>;
  /** The transaction id of the last change seen. */
  last: bigint | undefined;
}

/** A topic is a watched znode that holds the latest text. Texts in quick succession may be skipped. */
export class ZooKeeperNotifications implements Notifications {
  private readonly topics = new Map<string, Topic>();
  private readonly connection: () => Connection;
  private readonly places: Places;

  constructor(connection: () => Connection, places: Places) {
    this.connection = connection;
    this.places = places;
  }

  post(topic: string, text: string): void {
    const path = this.places.topic(topic);
    const data = Buffer.from(text);
    const write = (): Promise<unknown> => this.connection().set(path, data, ANY_VERSION);
    const make = async (): Promise<void> => {
      await this.connection().makeParents(path);
      await this.connection().make(path);
      await write();
    };
    void write().catch(make).catch(ignore);
  }

  subscribe(name: string, listener: Listener): () => void {
    const known = this.topics.get(name);
    const topic = known ?? { path: this.places.topic(name), listeners: new Set(), last: undefined };
    // A separate function each time, because a listener may subscribe twice.
    const own: Listener = (text) => listener(text);
    topic.listeners.add(own);
    if (known === undefined) {
      this.topics.set(name, topic);
      void this.watch(name, topic).catch(ignore);
    }
    return () => {
      topic.listeners.delete(own);
      if (topic.listeners.size === 0 && this.topics.get(name) === topic) this.topics.delete(name);
    };
  }

  /** Watches end with their session. */
  renew(): void {
    for (const [name, topic] of this.topics) void this.watch(name, topic).catch(ignore);
  }

  private async watch(name: string, topic: Topic): Promise<void> {
    if (this.topics.get(name) !== topic) return;
    const reading = await this.connection().watch(topic.path, () => {
      void this.watch(name, topic).catch(ignore);
    });
    const change = reading?.stat.mzxid.readBigInt64BE() ?? 0n;
    const isNews = topic.last !== undefined && change > topic.last;
    topic.last = change;
    // A topic is created empty before it is written.
    if (!isNews || reading === undefined || reading.stat.version === 0) return;
    const text = reading.data.toString();
    for (const listener of topic.listeners) notify(listener, text);
  }
}

/** Notifications are hints, so failures are ignored. */
function ignore(): void {}

function notify(listener: Listener, text: string): void {
  try {
    listener(text);
  } catch (error) {
    // Errors of a listener are uncaught exceptions, as in any event of Node.
    process.nextTick(() => {
      throw error;
    });
  }
}
