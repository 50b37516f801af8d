/** A value, or a promise of it: what is there at once costs no promise. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Any promise: libraries have their own, and so has each realm. */
export function isPromise<Value>(value: MaybePromise<Value>): value is Promise<Value> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Goes on with a value as soon as it is there. */
export function after<Value, Next>(
  value: MaybePromise<Value>,
  next: (value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** All of them, at once if all are there. */
export function all<Value>(values: readonly MaybePromise<Value>[]): MaybePromise<readonly Value[]> {
  return values.every(isThere) ? values : Promise.all(values);
}

/** What `ask` says of each item. If it throws for one, rejections of those before it are still listened to. */
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
