import type {
  EntryState,
  Extension,
  FoundEntry,
  JournalEntry,
  ReservationJournal,
} from "../../reservations/journal.ts";
import type { RedisArgument } from "./clients/redis-client.ts";
import { digest } from "./key-names.ts";
import { PackedWriter } from "./packed-writer.ts";

/** Runs the script of the journal. */
type RunJournal = (keys: readonly string[], args: readonly RedisArgument[]) => Promise<unknown>;

/** The servers of a journal. */
export interface JournalServers {
  readonly run: RunJournal;
  readonly isCluster: boolean;
  readonly isClosed: boolean;
  /** Whether calls are sent as they are made, and not when a connection is there. */
  readonly isConnected: boolean;
  /** The time to use, or "" for the server's clock. */
  now(): number | "";
}

/** Parts of the journal. In a cluster they are in different slots, whose tags no identity has. */
const PARTS = 64;
/** Commands in one call. */
const MOST_AT_ONCE = 256;

const EXTENDED: ReadonlyMap<unknown, EntryState> = new Map([
  [1, "open"],
  [2, "changed"],
  [0, "ended"],
]);

interface Command {
  readonly name: string;
  readonly part: number;
  /** Whose text is read or kept when it has ended, if any. */
  readonly ended: string | undefined;
  /** Numbers and texts, in the order in which the script reads them. */
  readonly args: readonly (string | number)[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The journal of reservations in Redis. Commands of one turn of the event loop are sent together: in one call to a
 * server, in a cluster in one call for each part.
 */
export class RedisJournal implements ReservationJournal {
  private readonly head: string;
  private readonly keys: readonly JournalKeys[];
  private readonly servers: JournalServers;
  private waiting: Command[] = [];
  private part = Math.floor(Math.random() * PARTS);
  private isPartInUse = false;
  /** Whether the server has the script, as far as is known. */
  private isLoaded = false;

  constructor(prefix: string, servers: JournalServers) {
    this.head = headOf(prefix);
    this.keys = journalKeys(prefix);
    this.servers = servers;
  }

  get isClosed(): boolean {
    return this.servers.isClosed;
  }

  /** One connection executes calls in order. A script that has to be sent again comes later. */
  get isOrdered(): boolean {
    const { isCluster, isConnected } = this.servers;
    return this.isLoaded && isConnected && !isCluster;
  }

  /** A script can access all keys of a server. In a cluster, the journal and the counters are in different slots. */
  get isAtomic(): boolean {
    return this.isOrdered;
  }

  /** Ids of one turn of the event loop are in one part, so that their entries are written together. */
  newId(): string {
    if (!this.isPartInUse) {
      this.isPartInUse = true;
      this.part = (this.part + 1) % PARTS;
      setImmediate(() => {
        this.isPartInUse = false;
      });
    }
    return this.part.toString(16).padStart(2, "0") + crypto.randomUUID().slice(2);
  }

  async add({ id, text }: JournalEntry, forMs: number): Promise<void> {
    await this.enqueue("add", partOf(id), undefined, [forMs, id, text]);
  }

  async restore({ id, text }: JournalEntry, forMs: number): Promise<void> {
    await this.enqueue("restore", partOf(id), id, [forMs, id, text]);
  }

  async extend(extensions: readonly Extension[]): Promise<readonly EntryState[]> {
    const replies = await Promise.all(
      extensions.map(({ id, forMs, text = "", known = "" }) => {
        return this.enqueue("extend", partOf(id), id, [forMs, id, text, text === "" ? "" : known]);
      }),
    );
    return replies.map((reply) => EXTENDED.get(reply) ?? "missing");
  }

  async end(
    entries: readonly { readonly id: string; readonly text?: string | undefined }[],
    keepMs: number,
  ): Promise<void> {
    await Promise.all(
      entries.map(({ id, text = "" }) => {
        return this.enqueue("finish", partOf(id), text === "" ? undefined : id, [id, text, keepMs]);
      }),
    );
  }

  async find(id: string): Promise<FoundEntry | undefined> {
    const [isOpen, text, deadline] = listOf(await this.enqueue("find", partOf(id), id, [id]));
    if (text === undefined) return undefined;
    return { id, text: String(text), deadline: Number(deadline), isEnded: isOpen !== 1 };
  }

  /** In a cluster, where each part is asked on its own, about `most` if they are spread evenly. */
  claimOverdue(most: number, forMs: number): Promise<readonly FoundEntry[]> {
    const share = this.servers.isCluster ? Math.ceil((4 * most) / PARTS) : most;
    return this.claimFromEach(share, forMs);
  }

  /** Texts are long, and each part may have the entries that expire next, so it reads only those of the result. */
  async list(most: number): Promise<readonly FoundEntry[]> {
    const replies = await this.ofAllParts("list", [most]);
    const ends = replies.flatMap((reply) => {
      const items = listOf(reply).map(String);
      return items.flatMap((id, i) => (i % 2 === 0 ? [{ id, end: Number(items[i + 1]) }] : []));
    });
    const next = ends.sort((a, b) => a.end - b.end).slice(0, most);
    const found = await Promise.all(next.map(({ id }) => this.read(id)));
    return found.flatMap((entry) => entry ?? []).sort(byDeadline);
  }

  /** Sends what is waiting, so that it comes before requests that are sent next. */
  flush(): void {
    const { waiting } = this;
    if (waiting.length === 0) return;
    this.waiting = [];
    if (!this.servers.isCluster) {
      for (let from = 0; from < waiting.length; from += MOST_AT_ONCE)
        this.send(waiting.slice(from, from + MOST_AT_ONCE));
      return;
    }
    const byPart = new Map<number, Command[]>();
    for (const command of waiting) {
      const others = byPart.get(command.part);
      if (others === undefined) byPart.set(command.part, [command]);
      else others.push(command);
    }
    for (const commands of byPart.values()) this.send(commands);
  }

  private async claimFromEach(most: number, forMs: number): Promise<readonly FoundEntry[]> {
    const replies = await this.ofAllParts("claim", [most, forMs]);
    const found = replies.flatMap((reply) => {
      const items = listOf(reply).map(String);
      return items.flatMap((id, i) => {
        return i % 3 === 0 ? [{ id, text: items[i + 1], deadline: Number(items[i + 2]), isEnded: false }] : [];
      });
    });
    return found.sort(byDeadline);
  }

  /** Undefined if it has ended. */
  private async read(id: string): Promise<FoundEntry | undefined> {
    const [text, deadline] = listOf(await this.enqueue("read", partOf(id), undefined, [id]));
    return text === undefined ? undefined : { id, text: String(text), deadline: Number(deadline), isEnded: false };
  }

  private ofAllParts(command: "claim" | "list", args: readonly number[]): Promise<readonly unknown[]> {
    return Promise.all(Array.from({ length: PARTS }, (_, part) => this.enqueue(command, part, undefined, args)));
  }

  private enqueue(
    name: string,
    part: number,
    ended: string | undefined,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ name, part, ended, args, resolve, reject });
      if (this.waiting.length === 1) setImmediate(() => this.flush());
    });
  }

  private send(commands: readonly Command[]): void {
    const keys: string[] = [];
    const places = new Map<string, number>();
    const place = (name: string, ...names: readonly string[]): number => {
      const known = places.get(name);
      if (known !== undefined) return known;
      const first = keys.push(name);
      keys.push(...names);
      places.set(name, first);
      return first;
    };
    const writer = new PackedWriter();
    for (const { name, part, ended, args } of commands) {
      const [ends, ...others] = this.keys[part];
      writer.text(name);
      writer.number(place(ends, ...others));
      for (const argument of args) {
        if (typeof argument === "number") writer.number(argument);
        else writer.sized(argument);
      }
      if (ended !== undefined) writer.number(place(`${this.head}${part}}:ended:${safe(ended)}`));
      else if (name === "finish") writer.number(0);
    }
    const args = [writer.packed, String(this.servers.now())];
    this.servers.run(keys, args).then(
      (reply) => {
        this.isLoaded = true;
        const replies = listOf(reply);
        for (const [i, { resolve }] of commands.entries()) resolve(replies[i]);
      },
      (error: unknown) => {
        this.isLoaded = false;
        for (const { reject } of commands) reject(error);
      },
    );
  }
}

/** The keys of a part: when reservations expire, their texts, and those that were claimed. */
export type JournalKeys = readonly [ends: string, texts: string, claims: string];

/** The keys of all parts. */
export function journalKeys(prefix: string): readonly JournalKeys[] {
  return Array.from({ length: PARTS }, (_, part) => {
    const head = `${headOf(prefix)}${part}}:`;
    return [`${head}ends`, `${head}texts`, `${head}claims`];
  });
}

function headOf(prefix: string): string {
  return `${prefix}:{%journal`;
}

/** Ids come from anywhere, also from clients of the service. */
function safe(id: string): string {
  return /^[\w-]{1,64}$/.test(id) ? id : digest(id);
}

/** The part of a reservation: our ids begin with it. */
export function partOf(id: string): number {
  const stated = Number.parseInt(id.slice(0, 2), 16);
  return (Number.isNaN(stated) ? id.length : stated) % PARTS;
}

function byDeadline(a: FoundEntry, b: FoundEntry): number {
  return a.deadline - b.deadline;
}

function listOf(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}
