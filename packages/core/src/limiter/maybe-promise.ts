/** A value or a promise of it: values that are available immediately need no promise. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Any promise: libraries and realms have their own classes. */
export function isPromise<Value>(value: MaybePromise<Value>): value is Promise<Value> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Continues with a value, immediately if it is available. */
export function after<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** All values, immediately if all are available. */
export function all<Value>(values: readonly MaybePromise<Value>[]): MaybePromise<readonly Value[]> {
  return values.every(isThere) ? values : Promise.all(values);
}

/** Calls `ask` for each item. If it throws for one, rejections of earlier ones are still handled. */
export function each<Item, Value>(
  items: readonly Item[],
  ask: (item: Item) => MaybePromise<Value>,
): MaybePromise<readonly Value[]> {
  const values: MaybePromise<Value>[] = [];
  for (const item of items) {
    try {
      values.push(ask(item));
    } catch (error) {
      if (values.every(isThere)) throw error;
      return Promise.all([...values, Promise.reject(error)]);
    }
  }
  return all(values);
}

function isThere<Value>(value: MaybePromise<Value>): value is Value {
  return !isPromise(value);
}
