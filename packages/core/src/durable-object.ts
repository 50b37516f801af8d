export type { CounterReply, CounterRequest } from "./stores/durable-object/counter-request.ts";
export type { DurableObjectStorage, DurableObjectStoreOptions } from "./stores/durable-object/durable-object-store.ts";
export { DurableObjectStore } from "./stores/durable-object/durable-object-store.ts";
export { type CounterObject, durableObjects } from "./stores/durable-object/durable-objects.ts";
