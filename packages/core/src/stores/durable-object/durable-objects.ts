import { HeadgateError, StoreError, type StoreErrorCode } from "../../errors.ts";
import { aFunction } from "../../options.ts";
import type { Action, Answer, ApplyOptions, Operation, Store } from "../store.ts";
import { type CounterReply, type CounterRequest, sentOperations } from "./counter-request.ts";

/** A Durable Object whose method `reply` calls `reply` of its `DurableObjectStore`. */
export interface CounterObject {
  /** Identifies the object. Without it, each return value of `objectOf` counts as a different object. */
  readonly id?: { toString(): string };
  reply(request: CounterRequest): PromiseLike<CounterReply>;
}

/**
 * Creates a store for Workers with counters in Durable Objects. `objectOf` returns the object that holds the counters of
 * a key.
 */
export function durableObjects(objectOf: (key: string) => CounterObject): Store {
  aFunction(objectOf, "objectOf");
  return { takesFirst: true, apply: (action, operations, options) => apply(objectOf, action, operations, options) };
}

async function apply(
  objectOf: (key: string) => CounterObject,
  action: Action,
  operations: readonly Operation[],
  options: ApplyOptions | undefined,
): Promise<readonly Answer[]> {
  if (operations.length === 0) return [];
  const [object, ...others] = [...new Set(operations.map(({ key }) => key))].map(objectOf);
  if (others.some((other) => !isSame(object, other))) {
    const advice = "let objectOf return the same object for them, or send several requests";
    throw new HeadgateError("HG_KEYS_APART", "key", `this request has keys of different Durable Objects: ${advice}`);
  }
  const reply = await replyOf(object, { action, operations: sentOperations(operations), options });
  if ("answers" in reply) return reply.answers;
  const { code, field, problem } = reply.error;
  throw isStoreCode(code) ? new StoreError(code, problem) : new HeadgateError(code, field, problem);
}

async function replyOf(object: CounterObject, request: CounterRequest): Promise<CounterReply> {
  try {
    return await object.reply(request);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new StoreError("HG_STORE_UNREACHABLE", `the Durable Object did not answer: ${message}`, { cause: error });
  }
}

function isSame(one: CounterObject, other: CounterObject): boolean {
  return one === other || (one.id !== undefined && String(one.id) === String(other.id));
}

function isStoreCode(code: string): code is StoreErrorCode {
  return code.startsWith("HG_STORE_");
}
