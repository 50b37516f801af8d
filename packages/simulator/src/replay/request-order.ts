import type { RequestRules } from "./traffic-request.ts";

/** Number of requests held at most. Without a bound, memory would grow with the rate of the traffic. */
const MOST_HELD = 16_384;

/** A request in its place, with the rules that apply to it and, in a comparison, those of the other set. */
export type Release = (
  time: number,
  key: number,
  cost: number,
  rules: RequestRules,
  against: RequestRules | undefined,
) => void;

/**
 * Puts requests in order of time. A request is held until one arrives that is later by the allowed lateness, or until
 * too many are held. Requests of the same time keep their order.
 */
export class RequestOrder {
  /** Number of requests that came too late to be put in order. They were given the time of the last one released. */
  late = 0;
  readonly #lateness: number;
  readonly #release: Release;
  readonly #times = new Float64Array(MOST_HELD);
  readonly #keys = new Uint32Array(MOST_HELD);
  readonly #costs = new Float64Array(MOST_HELD);
  readonly #rules = new Array<RequestRules>(MOST_HELD);
  readonly #against = new Array<RequestRules | undefined>(MOST_HELD);
  #head = 0;
  #held = 0;
  #newest = Number.NEGATIVE_INFINITY;
  #released = Number.NEGATIVE_INFINITY;

  /** `lateness` is in microseconds. */
  constructor(lateness: number, release: Release) {
    this.#lateness = lateness;
    this.#release = release;
  }

  add(time: number, key: number, cost: number, rules: RequestRules, against?: RequestRules): void {
    let at = time;
    if (time < this.#released) {
      at = this.#released;
      this.late += 1;
    }
    if (at > this.#newest) this.#newest = at;
    if (this.#held === MOST_HELD) this.#releaseFirst();
    // A full line may just have released a later request.
    this.#insert(at < this.#released ? this.#released : at, key, cost, rules, against);
    const due = this.#newest - this.#lateness;
    while (this.#held > 0 && this.#times[this.#head] <= due) this.#releaseFirst();
  }

  /** Releases all that are held. */
  flush(): void {
    while (this.#held > 0) this.#releaseFirst();
  }

  #insert(time: number, key: number, cost: number, rules: RequestRules, against: RequestRules | undefined): void {
    const mask = MOST_HELD - 1;
    let place = (this.#head + this.#held) & mask;
    for (let before = this.#held; before > 0; before -= 1) {
      const previous = (place - 1) & mask;
      if (this.#times[previous] <= time) break;
      this.#times[place] = this.#times[previous];
      this.#keys[place] = this.#keys[previous];
      this.#costs[place] = this.#costs[previous];
      this.#rules[place] = this.#rules[previous];
      this.#against[place] = this.#against[previous];
      place = previous;
    }
    this.#times[place] = time;
    this.#keys[place] = key;
    this.#costs[place] = cost;
    this.#rules[place] = rules;
    this.#against[place] = against;
    this.#held += 1;
  }

  #releaseFirst(): void {
    const place = this.#head;
    this.#head = (place + 1) & (MOST_HELD - 1);
    this.#held -= 1;
    this.#released = this.#times[place];
    const { [place]: rules } = this.#rules;
    this.#release(this.#released, this.#keys[place], this.#costs[place], rules, this.#against[place]);
  }
}
