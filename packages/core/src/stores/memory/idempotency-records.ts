import { HeadgateError, shown } from "../../errors.ts";
import { isRemembered } from "../idempotency-fingerprint.ts";
import type { Answer, ApplyOptions } from "../store.ts";
import type { KeyHash } from "./key-hash.ts";

/** How many expired records are removed per new one, so that memory shrinks and no request takes long. */
const LET_GO_AT_ONCE = 4;

interface Remembering {
  readonly rememberFor: number;
  readonly forgetsDenial: ApplyOptions["forgetsDenial"];
}

/** An answered request, linked to the next one. */
interface Answered {
  readonly id: string;
  readonly request: string;
  readonly answers: readonly Answer[];
  /** Until when it is remembered. */
  readonly until: number;
  next: Answered | undefined;
}

/**
 * The requests of the last five minutes that had an idempotency key, in order of arrival. Names and requests are stored
 * as hashes, so their length does not matter.
 */
export class IdempotencyRecords {
  /** Number of records. */
  size = 0;
  /** Number of records dropped early for lack of room. */
  forgotten = 0;
  private readonly byId = new Map<string, Answered>();
  private oldest: Answered | undefined;
  private newest: Answered | undefined;
  private readonly max: number;
  private readonly hash: KeyHash;

  constructor(max: number, hash: KeyHash) {
    this.max = max;
    this.hash = hash;
  }

  /** The answers of the first request, or those of `decide`. */
  once(
    identity: string | undefined,
    idempotencyKey: string,
    fingerprint: string,
    now: number,
    { rememberFor, forgetsDenial }: Remembering,
    decide: () => readonly Answer[],
  ): readonly Answer[] {
    const id = this.hashOf(JSON.stringify([identity, idempotencyKey]));
    const request = this.hashOf(fingerprint);
    const known = this.byId.get(id);
    if (known === undefined || now >= known.until) {
      const answers = decide();
      if (isRemembered(answers, forgetsDenial)) {
        this.remember({ id, request, answers, until: now + rememberFor, next: undefined }, now);
      }
      return answers;
    }
    if (known.request !== request) {
      throw new HeadgateError(
        "HG_IDEMPOTENCY_CONFLICT",
        "idempotencyKey",
        `${shown(idempotencyKey)} was used for another request within the last 5 minutes: create a new one for each request`,
      );
    }
    return known.answers;
  }

  private remember(answered: Answered, now: number): void {
    for (let i = 0; i < LET_GO_AT_ONCE && this.oldest !== undefined && now >= this.oldest.until; i += 1) this.letGo();
    if (this.size >= this.max) {
      this.forgotten += 1;
      this.letGo();
    }
    this.byId.set(answered.id, answered);
    if (this.newest === undefined) this.oldest = answered;
    else this.newest.next = answered;
    this.newest = answered;
    this.size += 1;
  }

  private letGo(): void {
    const { oldest } = this;
    if (oldest === undefined) return;
    // The same key may have been used again since.
    if (this.byId.get(oldest.id) === oldest) this.byId.delete(oldest.id);
    this.oldest = oldest.next;
    if (this.oldest === undefined) this.newest = undefined;
    this.size -= 1;
  }

  private hashOf(text: string): string {
    this.hash.update(text);
    return `${this.hash.high}:${this.hash.low}`;
  }
}
