import type { Limit } from "../../../src/index.ts";
import { Row } from "../../algorithms/row.ts";
import type { Answered, Request } from "./asker.ts";

type Told = Pick<Answered, "allowed" | "remaining">;

/**
 * Whether the requests on one key can be put into an order in which a sequential limiter would give the same answers,
 * each at some instant between its sending and its answer. Searched with the algorithm of Wing and Gong: each request
 * that can be first is tried, and then the rest; a set of requests is tried only once from the same state.
 */
export function isLinearizable(history: readonly Answered[], limit: Limit): boolean {
  const bySent = [...history].sort((a, b) => a.sent - b.sent);
  const tried = new Set<string>();

  function fromHere(waiting: readonly Answered[], row: Row): boolean {
    if (waiting.length === 0) return true;
    const state = `${waiting.map((each) => bySent.indexOf(each))}|${row.state}`;
    if (tried.has(state)) return false;
    tried.add(state);
    const firstAnswer = Math.min(...waiting.map(({ received }) => received));
    return waiting
      .filter(({ sent }) => sent <= firstAnswer)
      .some((request) => {
        const next = row.copy();
        return (
          isSame(answerTo(next, request), request) &&
          fromHere(
            waiting.filter((other) => other !== request),
            next,
          )
        );
      });
  }

  return fromHere(bySent, new Row(limit));
}

/** The window is so long that it is always the same time. */
const NOW = 1_790_000_000_000_000;

/** What a store does, one request at a time. */
function answerTo(row: Row, { action, cost }: Request): Told {
  const asked = action === "peek" ? cost : 1;
  if (action === "charge") {
    const { allowed } = row.ask(NOW, cost);
    row.penalize(NOW, cost);
    return { allowed, remaining: row.ask(NOW, 0).remaining };
  }
  if (action === "penalize") row.penalize(NOW, cost);
  if (action === "refund") row.refund(NOW, cost);
  if (action === "reset") row.refund(NOW, Number.MAX_SAFE_INTEGER);
  const { allowed } = action === "take" || action === "takeFirst" ? row.take(NOW, cost) : row.ask(NOW, asked);
  return { allowed, remaining: row.ask(NOW, 0).remaining };
}

/** A hair flows back while a test runs. */
function isSame(a: Told, b: Told): boolean {
  return a.allowed === b.allowed && Math.abs(a.remaining - b.remaining) < 1e-3;
}
