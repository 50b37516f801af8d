export { SimulatedCalls } from "./cluster/simulated-calls.ts";
export { SimulatedNotifications } from "./cluster/simulated-notifications.ts";
export { type ClockSkew, SimulatedProcess } from "./cluster/simulated-process.ts";
export { VirtualTime } from "./cluster/virtual-time.ts";
export { Random } from "./traffic/random.ts";
