import type { Clock } from "../../time/clock.ts";
import type { Bulletin } from "../bulletin.ts";
import type { Store } from "../store.ts";
import type { Lease } from "./lease.ts";

/** What nodes tell each other of a pool: that it refuses so much until then, has some again, or was filled by hand. */
type Item = { readonly shut: readonly [from: number, until: number] } | { readonly now: "open" | "reset" };

/** What the nodes of a store tell each other about their pools, so that none asks one that is known to be empty. */
export class News {
  private readonly bulletin: Bulletin | undefined;
  private readonly store: Store;
  private readonly time: Clock;
  private readonly followed = new Map<string, () => void>();

  constructor(store: Store, time: Clock) {
    this.store = store;
    this.bulletin = store.bulletin;
    this.time = time;
  }

  follow(rule: string, key: string, lease: Lease): void {
    if (this.bulletin === undefined) return;
    const topic = topicOf(rule, key);
    this.followed.set(
      topic,
      this.bulletin.subscribe(topic, (text) => this.hear(text, lease)),
    );
  }

  leave(rule: string, key: string): void {
    const topic = topicOf(rule, key);
    this.followed.get(topic)?.();
    this.followed.delete(topic);
  }

  close(): void {
    for (const leave of this.followed.values()) leave();
    this.followed.clear();
  }

  /** `until` by our clock; it is told by the store's, which all can read. */
  shut(rule: string, key: string, from: number, until: number): void {
    this.post(rule, key, { shut: [from, Math.floor(until + this.ahead())] });
  }

  opened(rule: string, key: string): void {
    this.post(rule, key, { now: "open" });
  }

  reset(rule: string, key: string): void {
    this.post(rule, key, { now: "reset" });
  }

  private post(rule: string, key: string, item: Item): void {
    this.bulletin?.post(topicOf(rule, key), JSON.stringify(item));
  }

  private hear(text: string, lease: Lease): void {
    const item = readItem(text);
    if (item === undefined) return;
    if ("now" in item) {
      if (item.now === "reset") lease.drop();
      else lease.open();
      return;
    }
    const [from, until] = item.shut;
    lease.shut(from, until - this.ahead());
  }

  /** How far the store's clock is ahead of ours. */
  private ahead(): number {
    return (this.store.clock ?? this.time).now() - this.time.now();
  }
}

function topicOf(rule: string, key: string): string {
  return JSON.stringify([rule, key]);
}

/** What others write is not trusted to be of our making. */
function readItem(text: string): Item | undefined {
  let item: unknown;
  try {
    item = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof item !== "object" || item === null) return undefined;
  if ("now" in item) return item.now === "open" || item.now === "reset" ? { now: item.now } : undefined;
  if (!("shut" in item) || !Array.isArray(item.shut)) return undefined;
  const [from, until]: unknown[] = item.shut;
  return typeof from === "number" && typeof until === "number" ? { shut: [from, until] } : undefined;
}
