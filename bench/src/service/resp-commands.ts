import { createHash } from "node:crypto";

/** The users that checks are for, in no particular order. */
const USERS = 1_000;
/** The next user: a step that has no common divisor with their number. */
const STEP = 619;

/** A million each minute: every check passes. */
const MAX_BURST = 999_999;
const COUNT = 1_000_000;
const PERIOD = 60;

/** The same limit in Redis: GCRA on the server's clock, in milliseconds. */
export const GCRA_IN_LUA = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local interval, tolerance = tonumber(ARGV[1]), tonumber(ARGV[2])
local tat = tonumber(redis.call('GET', KEYS[1]) or now)
if tat < now then tat = now end
local new = tat + interval
if new - now > tolerance then return {1, 0, math.ceil(new - now - tolerance)} end
redis.call('SET', KEYS[1], string.format('%.17g', new), 'PX', math.ceil(new - now) + 1)
return {0, math.floor((tolerance - (new - now)) / interval), -1}
`;
const SHA = createHash("sha1").update(GCRA_IN_LUA).digest("hex");

/** Commands of one kind for one user after the other. */
export interface Commands {
  /** So many commands as they are sent. */
  next(count: number): string;
  /** Lines in the reply to one of them. */
  readonly lines: number;
  /** How the reply begins if the check passes. */
  readonly passes: string;
}

function commands(command: (user: string) => readonly string[], lines: number, passes: string): Commands {
  const texts = Array.from({ length: USERS }, (_, i) => encoded(command(`user:${String(i).padStart(12, "0")}`)));
  let at = 0;
  return {
    lines,
    passes,
    next(count) {
      let text = "";
      for (let i = 0; i < count; i += 1) {
        at = (at + STEP) % USERS;
        text += texts[at];
      }
      return text;
    },
  };
}

export function throttleCommands(): Commands {
  const limit = [MAX_BURST, COUNT, PERIOD].map(String);
  return commands((user) => ["CL.THROTTLE", user, ...limit], 6, "*5\r\n:0\r\n");
}

export function luaCommands(): Commands {
  const interval = String((PERIOD * 1000) / COUNT);
  const tolerance = String(PERIOD * 1000);
  return commands((user) => ["EVALSHA", SHA, "1", user, interval, tolerance], 4, "*3\r\n:0\r\n");
}

function encoded(args: readonly string[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join("")}`;
}
