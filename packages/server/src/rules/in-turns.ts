/** Long enough to get on, and short enough that no check waits for it. */
const TURN_MS = 5;

/** Work on many things. Wherever it yields, others may have their turn. */
export type Work<Result> = Generator<undefined, Result>;

/** Does all of it now. */
export function atOnce<Result>(work: Work<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Does it some milliseconds at a time: in between, whoever waits for this thread is served. */
export async function inTurns<Result>(work: Work<Result>): Promise<Result> {
  let end = performance.now() + TURN_MS;
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (performance.now() < end) continue;
    await new Promise(setImmediate);
    end = performance.now() + TURN_MS;
  }
}
