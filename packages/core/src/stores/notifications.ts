/**
 * A board on which the nodes of a store tell each other what they have seen. A hint and no more: a text may come
 * late, twice or never, and nothing here ever throws.
 */
export interface Bulletin {
  post(topic: string, text: string): void;
  /** Hears what is posted under a topic from now on, one's own posts too; answers how to stop. */
  subscribe(topic: string, listener: (text: string) => void): () => void;
}
