import type { Clock } from "../../clock/clock.ts";
import { type Limit, limitText } from "../../limits/limit.ts";
import type { Notifications } from "../../stores/notifications.ts";
import type { Store } from "../../stores/store.ts";
import type { Lease } from "./lease.ts";

/**
 * A notification about a pool: it denies an amount until a time under a limit, received units at a time, or was reset.
 * Times are by the store's clock, which all nodes can read.
 */
type Item =
  | { readonly empty: readonly [from: number, until: number, seenAt: number]; readonly under: string }
  | { readonly filled: number }
  | { readonly reset: true };

/** Maximum difference between two nodes' estimates of the store's time, in microseconds. */
const DIFFERENCE = 5_000;

/** Notifications between the nodes of a store about their pools, so that no node asks a pool known to be empty. */
export class PoolNotifications {
  private readonly notifications: Notifications | undefined;
  private readonly store: Store;
  private readonly time: Clock;
  private readonly followed = new Map<string, () => void>();

  constructor(store: Store, time: Clock) {
    this.store = store;
    this.notifications = store.notifications;
    this.time = time;
  }

  /** `limit`: the limit of the pool. */
  follow(counter: string, key: string, limit: Limit, lease: Lease): void {
    if (this.notifications === undefined) return;
    const topic = topicOf(counter, key);
    this.followed.set(
      topic,
      this.notifications.subscribe(topic, (text) => this.hear(text, counter, key, limit, lease)),
    );
  }

  leave(counter: string, key: string): void {
    const topic = topicOf(counter, key);
    this.followed.get(topic)?.();
    this.followed.delete(topic);
  }

  close(): void {
    for (const leave of this.followed.values()) leave();
    this.followed.clear();
  }

  /** Times are by the local clock. */
  postEmpty(counter: string, key: string, limit: Limit, from: number, until: number, seenAt: number): void {
    const ahead = this.ahead();
    const empty = [from, Math.floor(until + ahead), Math.floor(seenAt + ahead)] as const;
    this.post(counter, key, { empty, under: limitText(limit) });
  }

  postFilled(counter: string, key: string, at: number): void {
    this.post(counter, key, { filled: Math.floor(at + this.ahead()) });
  }

  reset(counter: string, key: string): void {
    this.post(counter, key, { reset: true });
  }

  private post(counter: string, key: string, item: Item): void {
    this.notifications?.post(topicOf(counter, key), JSON.stringify(item));
  }

  private hear(text: string, counter: string, key: string, limit: Limit, lease: Lease): void {
    const item = readItem(text);
    if (item === undefined) return;
    const ahead = this.ahead();
    if ("reset" in item) lease.drop();
    // A time in the future would keep the pool being asked until then.
    else if ("filled" in item) lease.emptyPool.markFilled(Math.min(item.filled - ahead, this.time.now()));
    // Under another limit there may be room, for example while a change reaches one node after the other.
    else if (item.under === limitText(limit)) {
      const [from, until, seenAt] = item.empty;
      // The notification is outdated: correct it for nodes that received only this one.
      if (!lease.emptyPool.markEmpty(from, until - ahead, seenAt - ahead - DIFFERENCE))
        this.postFilled(counter, key, lease.emptyPool.lastFilledAt);
    }
  }

  /** How far the store's clock is ahead of the local one. */
  private ahead(): number {
    return (this.store.clock ?? this.time).now() - this.time.now();
  }
}

function topicOf(counter: string, key: string): string {
  return JSON.stringify([counter, key]);
}

/** Validates a notification, which other software may have sent. */
function readItem(text: string): Item | undefined {
  let item: unknown;
  try {
    item = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof item !== "object" || item === null) return undefined;
  if ("reset" in item) return item.reset === true ? { reset: true } : undefined;
  if ("filled" in item) return typeof item.filled === "number" ? { filled: item.filled } : undefined;
  if (!("empty" in item && "under" in item) || !Array.isArray(item.empty) || typeof item.under !== "string")
    return undefined;
  const [from, until, seenAt]: unknown[] = item.empty;
  const areNumbers = typeof from === "number" && typeof until === "number" && typeof seenAt === "number";
  return areNumbers ? { empty: [from, until, seenAt], under: item.under } : undefined;
}
