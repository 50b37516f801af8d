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

/** Runs the work a few milliseconds at a time, letting other work run in between. */
export async function inTurns<Result>(work: Work<Result>): Promise<Result> {
  for (;;) {
    const turn = oneTurn(work);
    if (turn.done) return turn.value;
    await new Promise(setImmediate);
  }
}

/** Does at once what takes no longer than a turn, and the rest in turns. */
export function startingNow<Result>(work: Work<Result>): Result | Promise<Result> {
  const turn = oneTurn(work);
  return turn.done ? turn.value : new Promise(setImmediate).then(() => inTurns(work));
}

function oneTurn<Result>(work: Work<Result>): IteratorResult<undefined, Result> {
  const end = performance.now() + TURN_MS;
  for (;;) {
    const step = work.next();
    if (step.done || performance.now() >= end) return step;
  }
}
