import { StoreError } from "../../../errors.ts";
import type { RedisAddress } from "../redis-url.ts";
import { ioredisClient } from "./ioredis-client.ts";
import { connect, tlsOptions } from "./ioredis-options.ts";
import type { RedisArgument, RedisClient, RedisClusterNodes } from "./redis-client.ts";

/** A cluster of which nothing is known yet. */
const UNKNOWN_NODES: RedisClusterNodes = {
  masters: () => [],
  masterOf: () => undefined,
  connectionTo: () => undefined,
};

/** The client of a store that was given a URL. It loads ioredis, which other stores can do without. */
export class IoredisByUrl implements RedisClient {
  readonly #loading: Promise<void>;
  readonly #isCluster: boolean;
  #client: RedisClient | undefined;
  #failure: Error | undefined;

  constructor(address: RedisAddress) {
    this.#isCluster = address.kind === "cluster";
    // Files that cannot be read are reported to the caller of the constructor.
    const tls = address.tls && tlsOptions(address.tls);
    this.#loading = import("ioredis").then(
      (ioredis) => {
        this.#client = ioredisClient(connect(ioredis, address, tls));
      },
      (cause: unknown) => {
        this.#failure = new StoreError(
          "HG_STORE_UNREACHABLE",
          "a Redis URL requires the package ioredis: install it, or pass a client of another library",
          { cause },
        );
      },
    );
  }

  get cluster(): RedisClusterNodes | undefined {
    return this.#client === undefined && this.#isCluster ? UNKNOWN_NODES : this.#client?.cluster;
  }

  get trouble(): Error | undefined {
    return this.#failure ?? this.#client?.trouble;
  }

  send(command: readonly RedisArgument[], key?: string): Promise<unknown> {
    return this.#client === undefined ? this.#sendLater(command, key) : this.#client.send(command, key);
  }

  drop(): void {
    this.#client?.drop?.();
  }

  async connected(): Promise<void> {
    await this.#loading;
    await this.#client?.connected?.();
  }

  onReady(listener: () => void): void {
    void this.#loading.then(() => this.#client?.onReady?.(listener));
  }

  subscribe(channel: string, listener: (message: string) => void): () => void {
    let leave: (() => void) | undefined;
    let isOver = false;
    void this.#loading.then(() => {
      if (!isOver) leave = this.#client?.subscribe?.(channel, listener);
    });
    return () => {
      isOver = true;
      leave?.();
    };
  }

  async close(graceMs: number): Promise<void> {
    await this.#loading;
    await this.#client?.close?.(graceMs);
  }

  async #sendLater(command: readonly RedisArgument[], key?: string): Promise<unknown> {
    await this.#loading;
    if (this.#client === undefined) throw this.#failure;
    return this.#client.send(command, key);
  }
}
