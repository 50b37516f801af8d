import { StoreError } from "../../errors.ts";
import type { Timed } from "../deadlines.ts";
import type { Action, Answer, ApplyOptions, Operation } from "../store.ts";

export interface RequestSpec {
  readonly action: Action;
  readonly operations: readonly Operation[];
  /** Paths of the rows of the operations. */
  readonly paths: readonly string[];
  /** When the request becomes void, by the store's clock. */
  readonly voidFrom: number;
  /** Where its answers are remembered, under which fingerprint, and for how long. */
  readonly memory: RequestMemory | undefined;
}

interface RequestMemory {
  readonly path: string;
  readonly request: string;
  readonly rememberFor: number;
  readonly forgetsDenial: ApplyOptions["forgetsDenial"];
}

/** A request in progress. */
export class PendingRequest implements Timed {
  before: Timed | undefined;
  after: Timed | undefined;
  readonly spec: RequestSpec;
  /** All znodes that it reads or changes. */
  readonly places: readonly string[];
  /** Local time, in microseconds. */
  readonly due: number;
  /** Whether the caller is no longer waiting. */
  isOver = false;
  private readonly end: (request: PendingRequest) => void;
  private readonly resolve: (answers: readonly Answer[]) => void;
  private readonly reject: (error: Error) => void;

  constructor(
    spec: RequestSpec,
    due: number,
    end: (request: PendingRequest) => void,
    resolve: (answers: readonly Answer[]) => void,
    reject: (error: Error) => void,
  ) {
    this.spec = spec;
    const { paths, memory } = spec;
    this.places =
      paths.length === 1 && memory === undefined ? paths : [...new Set([...paths, ...(memory ? [memory.path] : [])])];
    this.due = due;
    this.end = end;
    this.resolve = resolve;
    this.reject = reject;
  }

  settle(outcome: readonly Answer[] | Error): void {
    if (this.isOver) return;
    this.isOver = true;
    this.end(this);
    if (outcome instanceof Error) this.reject(outcome);
    else this.resolve(outcome);
  }

  expire(): void {
    this.settle(new StoreError("HG_STORE_TIMEOUT", "ZooKeeper did not answer in time"));
  }
}
