/**
 * Notifications between processes that share a store. Only a hint: a message may arrive late, twice or never. Nothing
 * here throws.
 */
export interface Notifications {
  post(topic: string, text: string): void;
  /** Subscribes to a topic, including the process's own messages. Returns a function that unsubscribes. */
  subscribe(topic: string, listener: (text: string) => void): () => void;
}
