import type { Timed } from "../deadlines.ts";
import { localTime } from "../server-clock.ts";
import type { RedisConnection } from "./clients/redis-client.ts";
import { unanswered } from "./redis-errors.ts";
import type { RedisNode } from "./redis-node.ts";
import type { Group } from "./request-groups.ts";
import type { Request, Times } from "./script-request.ts";

/** A batch of requests in flight: a call of a script. */
export class ScriptCall implements Timed {
  readonly requests: readonly Request[];
  readonly node: RedisNode;
  /** What it says of time, as it was when it was asked for. */
  readonly times: Times;
  readonly due: number;
  readonly hasMoved: boolean;
  readonly plan: Group["plan"];
  before: Timed | undefined = undefined;
  after: Timed | undefined = undefined;
  /** Whether it was sent to the node itself, and to no other. */
  isDirect = false;
  sentAt = 0;
  private isOver = false;
  private readonly timeoutMs: number;
  private readonly ended: () => void;
  private connection: RedisConnection | undefined = undefined;

  constructor(
    requests: readonly Request[],
    node: RedisNode,
    times: Times,
    due: number,
    timeoutMs: number,
    hasMoved: boolean,
    ended: () => void,
    plan: Group["plan"],
  ) {
    this.requests = requests;
    this.node = node;
    this.times = times;
    this.due = due;
    this.timeoutMs = timeoutMs;
    this.hasMoved = hasMoved;
    this.ended = ended;
    this.plan = plan;
  }

  sent(connection: RedisConnection, isDirect: boolean): void {
    this.sentAt = localTime();
    this.connection = connection;
    this.isDirect = isDirect;
    if (isDirect) this.node.asked(this.sentAt);
  }

  end(time: number): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.isDirect) this.node.ended(time);
    this.ended();
  }

  expire(): void {
    const error = unanswered(this.timeoutMs);
    for (const { reject } of this.requests) reject(error);
    if (this.isDirect && this.node.isSilent(localTime())) this.connection?.drop?.();
  }
}
