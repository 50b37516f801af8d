import type { Notifications } from "../notifications.ts";
import { isCluster, type RedisClient } from "./redis-connection.ts";

/** Publishes to a Redis channel. The subscriber connection is opened on first use. */
export class RedisNotifications implements Notifications {
  // Private, so that printing a store does not print the password.
  #client: RedisClient;
  #listening: RedisClient | undefined;
  private readonly head: string;
  private readonly listeners = new Map<string, Set<(text: string) => void>>();

  constructor(client: RedisClient, prefix: string) {
    this.#client = client;
    this.head = `${prefix}:bulletin:`;
  }

  /** Continues with another client. */
  use(client: RedisClient): void {
    this.#client = client;
    this.#listening?.disconnect();
    this.#listening = undefined;
    for (const channel of this.listeners.keys()) this.listen(channel);
  }

  post(topic: string, text: string): void {
    this.#client.publish(this.head + topic, text).catch(() => {});
  }

  subscribe(topic: string, listener: (text: string) => void): () => void {
    const channel = this.head + topic;
    const known = this.listeners.get(channel);
    if (known === undefined) {
      this.listeners.set(channel, new Set([listener]));
      this.listen(channel);
    } else known.add(listener);
    return () => this.leave(channel, listener);
  }

  close(): void {
    this.#listening?.disconnect();
    this.#listening = undefined;
    this.listeners.clear();
  }

  private listen(channel: string): void {
    this.connection()
      .subscribe(channel)
      .catch(() => {});
  }

  private leave(channel: string, listener: (text: string) => void): void {
    const known = this.listeners.get(channel);
    if (!known?.delete(listener) || known.size > 0) return;
    this.listeners.delete(channel);
    this.#listening?.unsubscribe(channel).catch(() => {});
  }

  private connection(): RedisClient {
    if (this.#listening === undefined) {
      const listening = listener(this.#client);
      listening.on("error", () => {});
      listening.on("message", (channel: string, text: string) => {
        for (const hear of this.listeners.get(channel) ?? []) hear(text);
      });
      this.#listening = listening;
    }
    return this.#listening;
  }
}

/** A connection that can subscribe before it is connected, and resubscribes after each reconnect. */
function listener(client: RedisClient): RedisClient {
  return isCluster(client)
    ? client.duplicate([], { enableOfflineQueue: true })
    : client.duplicate({ enableOfflineQueue: true, autoResubscribe: true, maxRetriesPerRequest: null });
}
