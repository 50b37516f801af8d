import { type Client, createClient } from "node-zookeeper-client";

type Done<T> = (error: unknown, value: T) => void;

/** Another client of a ZooKeeper, such as zkCli: each call has its own session. */
export class Peer {
  private readonly address: string;

  constructor(address: string) {
    this.address = address;
  }

  get(path: string): Promise<string> {
    return this.ask((client, done: Done<string>) => client.getData(path, (error, data) => done(error, String(data))));
  }

  async json(path: string): Promise<Record<string, unknown>> {
    return JSON.parse(await this.get(path));
  }

  set(path: string, text: string): Promise<unknown> {
    return this.ask((client, done: Done<unknown>) => client.setData(path, Buffer.from(text), done));
  }

  create(path: string, text = ""): Promise<unknown> {
    return this.ask((client, done: Done<unknown>) => client.mkdirp(path, Buffer.from(text), done));
  }

  children(path: string): Promise<string[]> {
    return this.ask((client, done: Done<string[]>) => client.getChildren(path, done));
  }

  async removeAll(path: string): Promise<void> {
    for (const child of await this.children(path)) await this.removeAll(`${path}/${child}`);
    await this.ask((client, done: Done<undefined>) => client.remove(path, (error) => done(error, undefined)));
  }

  private async ask<T>(what: (client: Client, done: Done<T>) => void): Promise<T> {
    const client = createClient(this.address);
    const connected = new Promise<void>((resolve) => client.once("connected", resolve));
    client.connect();
    await connected;
    try {
      return await new Promise<T>((resolve, reject) => {
        what(client, (error, value) => (error ? reject(error) : resolve(value)));
      });
    } finally {
      client.close();
    }
  }
}
