import type { ComponentType } from "preact";
import type { IconName } from "../layout/icons.tsx";
import type { Route } from "../router.ts";
import { ApiReference } from "./api-reference/api-reference.tsx";
import { History } from "./history/history.tsx";
import { Overview } from "./overview/overview.tsx";
import { Playground } from "./playground/playground.tsx";
import { Replay } from "./replay/replay.tsx";
import { Reservations } from "./reservations/reservations.tsx";
import { Rules } from "./rules/rules.tsx";
import { Why } from "./why/why.tsx";

export interface Screen {
  /** The first part of its address. */
  readonly path: string;
  readonly title: string;
  readonly group: "Service" | "Plan" | "Reference";
  readonly icon: IconName;
  /** Whether it needs nothing from the service that only a key opens. */
  readonly isOpen: boolean;
  readonly component: ComponentType<{ readonly route: Route }>;
}

/** All screens, in the order of the navigation. */
export const screens: readonly Screen[] = [
  { path: "overview", title: "Overview", group: "Service", icon: "overview", isOpen: false, component: Overview },
  { path: "rules", title: "Rules", group: "Service", icon: "rules", isOpen: false, component: Rules },
  { path: "why", title: "Why", group: "Service", icon: "why", isOpen: false, component: Why },
  {
    path: "reservations",
    title: "Reservations",
    group: "Service",
    icon: "reservations",
    isOpen: false,
    component: Reservations,
  },
  { path: "history", title: "History", group: "Service", icon: "history", isOpen: false, component: History },
  { path: "replay", title: "Replay", group: "Plan", icon: "replay", isOpen: true, component: Replay },
  { path: "playground", title: "Playground", group: "Plan", icon: "playground", isOpen: true, component: Playground },
  { path: "api", title: "API reference", group: "Reference", icon: "api", isOpen: true, component: ApiReference },
];
