import { transportNames } from "../transports/registry.ts";
import { fields, flagOf } from "./fields.ts";
import type { Address, Settings } from "./settings.ts";

/** A setting that makes the node listen. */
export interface ListenerSetting {
  readonly name: string;
  readonly flag: string;
  readonly address: Address;
}

/** Where a node with these settings listens. */
export function listenersOf(settings: Settings): readonly ListenerSetting[] {
  const others = transportNames.flatMap((name) => {
    const address = settings[name];
    return address === undefined ? [] : [{ name, flag: flagOf(fields[name]), address }];
  });
  return [{ name: "http", flag: "--http", address: settings.http }, ...others];
}
