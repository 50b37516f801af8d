import type { Action, Answer, ApplyOptions, Operation, Store } from "headgate";
import { after } from "headgate/http";

/**
 * A wrapper that denies all operations that take something, for limits of 0. The store counts them under a limit of 1,
 * so a look is denied as soon as anything was charged.
 */
export class BlockingStore implements Store {
  private readonly inner: Pick<Store, "apply">;

  constructor(inner: Pick<Store, "apply">) {
    this.inner = inner;
  }

  apply(action: Action, operations: readonly Operation[], options?: ApplyOptions) {
    return after(this.inner.apply(action, operations, options), (answers) =>
      answers.map((answer, i) => blocked(answer, operations[i].cost === 0 && answer.remaining >= 1)),
    );
  }
}

function blocked(answer: Answer, allowed: boolean): Answer {
  return { ...answer, allowed, remaining: 0, retryAfter: allowed ? 0 : Number.POSITIVE_INFINITY };
}
