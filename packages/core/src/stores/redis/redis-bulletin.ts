import type { Bulletin } from "../bulletin.ts";
import { isCluster, type RedisClient } from "./connection.ts";

/** What is posted goes to a channel of Redis; whoever listens has a connection of his own for it, made when it is needed. */
export class RedisBulletin implements Bulletin {
  private readonly client: RedisClient;
  private readonly head: string;
  private readonly listeners = new Map<string, Set<(text: string) => void>>();
  private listening: RedisClient | undefined;

  constructor(client: RedisClient, prefix: string) {
    this.client = client;
    this.head = `${prefix}:bulletin:`;
  }

  post(topic: string, text: string): void {
    this.client.publish(this.head + topic, text).catch(() => {});
  }

  subscribe(topic: string, listener: (text: string) => void): () => void {
    const channel = this.head + topic;
    const known = this.listeners.get(channel);
    if (known === undefined) {
      this.listeners.set(channel, new Set([listener]));
      this.connection()
        .subscribe(channel)
        .catch(() => {});
    } else known.add(listener);
    return () => this.leave(channel, listener);
  }

  close(): void {
    this.listening?.disconnect();
    this.listening = undefined;
    this.listeners.clear();
  }

  private leave(channel: string, listener: (text: string) => void): void {
    const known = this.listeners.get(channel);
    if (!known?.delete(listener) || known.size > 0) return;
    this.listeners.delete(channel);
    this.listening?.unsubscribe(channel).catch(() => {});
  }

  private connection(): RedisClient {
    if (this.listening === undefined) {
      const listening = listener(this.client);
      listening.on("error", () => {});
      listening.on("message", (channel: string, text: string) => {
        for (const hear of this.listeners.get(channel) ?? []) hear(text);
      });
      this.listening = listening;
    }
    return this.listening;
  }
}

/** What it is to listen to it may be told before it is connected, and again after each time that it was not. */
function listener(client: RedisClient): RedisClient {
  return isCluster(client)
    ? client.duplicate([], { enableOfflineQueue: true })
    : client.duplicate({ enableOfflineQueue: true, autoResubscribe: true, maxRetriesPerRequest: null });
}
