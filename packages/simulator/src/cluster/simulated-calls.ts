import { StoreError } from "headgate";
import type { Random } from "../traffic/random.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** How likely messages between a process and a server are lost or repeated, and how long they take in microseconds. */
export interface MessageFaults {
  readonly loseRequest: number;
  readonly loseReply: number;
  readonly duplicate: number;
  delay(): number;
}

/** Sends the reply of a server on its way. `settle` runs when it arrives. */
export type SendReply = (settle: () => void) => void;

/** Calls of processes to a server, on a network that delays, loses and repeats messages. */
export class SimulatedCalls {
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #faults: () => MessageFaults;
  readonly #timeout: number;

  /** `timeout` in microseconds. */
  constructor(time: VirtualTime, random: Random, faults: () => MessageFaults, timeout: number) {
    this.#time = time;
    this.#random = random;
    this.#faults = faults;
    this.#timeout = timeout;
  }

  /** `execute` runs whenever the request arrives: never, once or twice. */
  call<Reply>(
    process: SimulatedProcess,
    execute: (reply: SendReply, resolve: (reply: Reply) => void, reject: (reason: unknown) => void) => void,
  ): Promise<Reply> {
    const { loseRequest, duplicate } = this.#faults();
    return new Promise((resolve, reject) => {
      process.after(this.#timeout, () => reject(new StoreError("HG_STORE_TIMEOUT", "did not answer")));
      const arrive = (): void => execute((settle) => this.#reply(process, settle), resolve, reject);
      if (!this.#random.chance(loseRequest)) this.#deliver(arrive);
      if (duplicate > 0 && this.#random.chance(duplicate)) this.#deliver(arrive);
    });
  }

  #reply(process: SimulatedProcess, settle: () => void): void {
    if (!this.#random.chance(this.#faults().loseReply)) this.#deliver(() => process.run(settle));
  }

  #deliver(arrive: () => void): void {
    this.#time.after(this.#faults().delay(), arrive);
  }
}
