import type { TrafficRequest } from "../replay/traffic-request.ts";
import type { LogReader } from "./log-reader.ts";

/** Reads several logs at once, in order of time as far as each of them is, and passes on their requests. */
export async function mergeLogs(logs: readonly LogReader[], add: (request: TrafficRequest) => void): Promise<void> {
  const live: LogReader[] = [];
  for (const log of logs) if (await log.advance()) live.push(log);
  while (live.length > 0) {
    const first = live.reduce((earliest, log) => (log.request.time < earliest.request.time ? log : earliest));
    const others = live.filter((log) => log !== first).map(({ request }) => request.time);
    const until = Math.min(Number.POSITIVE_INFINITY, ...others);
    const { request } = first;
    let goesOn = true;
    do {
      add(request);
      goesOn = first.next() || (await first.advance());
    } while (goesOn && request.time <= until);
    if (!goesOn) live.splice(live.indexOf(first), 1);
  }
}
