import { AMPLE_LIMIT, DAY_SECONDS, type Protocol, SCARCE_LIMIT } from "./line.ts";
import { RespLine, respCommand } from "./resp-line.ts";

/** The THROTTLE command of throttlecrab, with a key for servers that require one. */
export function throttleProtocol(key?: string): Protocol {
  return {
    connect: (port, failed) => RespLine.connect(port, key, failed),
    ample: (user) => throttle(user, AMPLE_LIMIT),
    scarce: (user) => throttle(`scarce-${user}`, SCARCE_LIMIT),
    scarceOfAll: (users) => users.map((user) => throttle(`scarce-${user}`, SCARCE_LIMIT)),
  };
}

function throttle(user: string, limit: number): Buffer {
  return respCommand("THROTTLE", user, ...[limit, limit, DAY_SECONDS].map(String));
}
