import type { Notifications } from "../notifications.ts";
import type { RedisClient } from "./clients/redis-client.ts";

interface Topic {
  readonly listeners: Set<(text: string) => void>;
  leave: (() => void) | undefined;
}

/** Posts to channels of Redis. */
export class RedisNotifications implements Notifications {
  // Private, so that printing a store does not print the password.
  #client: RedisClient;
  readonly #topics = new Map<string, Topic>();
  private readonly head: string;

  constructor(client: RedisClient, prefix: string) {
    this.#client = client;
    this.head = `${prefix}:bulletin:`;
  }

  /** Continues with another client. */
  use(client: RedisClient): void {
    this.#client = client;
    for (const [channel, topic] of this.#topics) {
      topic.leave?.();
      this.#listen(channel, topic);
    }
  }

  post(topic: string, text: string): void {
    this.#client.send(["PUBLISH", this.head + topic, text]).catch(() => {});
  }

  subscribe(topic: string, listener: (text: string) => void): () => void {
    const channel = this.head + topic;
    const known = this.#topics.get(channel);
    if (known === undefined) {
      const made: Topic = { listeners: new Set([listener]), leave: undefined };
      this.#topics.set(channel, made);
      this.#listen(channel, made);
    } else known.listeners.add(listener);
    return () => this.#leave(channel, listener);
  }

  close(): void {
    for (const { leave } of this.#topics.values()) leave?.();
    this.#topics.clear();
  }

  #listen(channel: string, topic: Topic): void {
    topic.leave = this.#client.subscribe?.(channel, (text) => {
      for (const hear of topic.listeners) hear(text);
    });
  }

  #leave(channel: string, listener: (text: string) => void): void {
    const known = this.#topics.get(channel);
    if (!known?.listeners.delete(listener) || known.listeners.size > 0) return;
    this.#topics.delete(channel);
    known.leave?.();
  }
}
