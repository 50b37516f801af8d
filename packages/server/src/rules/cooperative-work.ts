/** Long enough to make progress, and short enough not to delay checks. */
const TURN_MS = 5;

/** Work in steps. Other work can run wherever it yields. */
export type Work<Result> = Generator<undefined, Result>;

/** Runs all of it now. */
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

/** Runs what takes no longer than one turn immediately, and the rest in turns. */
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
