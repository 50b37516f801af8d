// For programs that build on stores: wrappers, and services that decide without a limiter.

export { decide } from "./limiter/decide.ts";
export type { ReservationJournal } from "./reservations/journal.ts";
export type { ListedReservation } from "./reservations/listed-reservations.ts";
export { PendingTakes } from "./reservations/pending-takes.ts";
export { Reservations } from "./reservations/reservations.ts";
export type { Notifications } from "./stores/notifications.ts";
export type { SlotHolder } from "./stores/store.ts";
export { StoreWrapper } from "./stores/store-wrapper.ts";
