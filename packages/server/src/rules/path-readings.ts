import { RequestError } from "../checks/request-error.ts";
import type { Meaning, Piece } from "./endpoint.ts";
import type { PatternTrie, TrieNode } from "./trie.ts";

/**
 * Maximum number of places followed for one endpoint, over all pieces. Places multiply with overlapping rules and `..`,
 * so that without a bound one short path could block the node for seconds.
 */
const MOST_STEPS = 50_000;

/** Parts beyond those in patterns, from which `..` leads back. */
class Beyond<Value> {
  readonly node: TrieNode<Value>;
  /** Number of such parts. */
  readonly depth: number;
  readonly below: Beyond<Value> | TrieNode<Value>;
  above: Beyond<Value> | undefined;

  constructor(below: Beyond<Value> | TrieNode<Value>) {
    this.below = below;
    this.node = below instanceof Beyond ? below.node : below;
    this.depth = below instanceof Beyond ? below.depth + 1 : 1;
  }
}

/** Where a reading has arrived. Readings at the same place continue in the same way. */
type Place<Value> = TrieNode<Value> | Beyond<Value>;
type Places<Value> = Set<Place<Value>>;

/**
 * The values of the patterns that any reading of a path matches, those with the fewest parts first. Readings choose a
 * meaning for each piece independently, so there may be millions. All are followed at once as the set of places they
 * have reached, which takes time proportional to the number of pieces times places. Throws a RequestError if that takes
 * too many steps: a path is counted under all of its readings, or rejected.
 */
export function matchEveryReading<Value>(trie: PatternTrie<Value>, pieces: readonly Piece[]): Value[] {
  const walk = new Walk(trie.root, pieces);
  for (const piece of pieces) walk.take(piece);
  return walk.found();
}

class Walk<Value> {
  private readonly root: TrieNode<Value>;
  private readonly firstBeyond = new Map<TrieNode<Value>, Beyond<Value>>();
  private readonly ended = new Set<TrieNode<Value>>();
  /** Nodes that a reading has passed for good. */
  private readonly passed = new Set<TrieNode<Value>>();
  private upsLeft: number;
  private stepsLeft = MOST_STEPS;
  /** Places of readings that start a part with the next piece. */
  private beginning: Places<Value>;
  /** For readings inside a part that continues with it: their places before that part. */
  private goingOn: Places<Value> = new Set();
  /** Places of readings that ignore it as part of a path parameter. */
  private ignoring: Places<Value> = new Set();

  constructor(root: TrieNode<Value>, pieces: readonly Piece[]) {
    this.root = root;
    this.beginning = new Set([root]);
    this.upsLeft = pieces.filter(canBeUp).length;
  }

  take(piece: Piece): void {
    if (canBeUp(piece)) this.upsLeft -= 1;
    const { beginning, goingOn, ignoring } = this;
    this.spend(piece);
    const after: Places<Value> = new Set(ignoring);
    this.step(beginning, piece.whole, after);
    for (const place of goingOn) this.push(place, NO_TEXTS, after);
    const ignoringNext: Places<Value> = new Set(ignoring);
    if (piece.withoutParameters !== undefined) {
      this.step(beginning, piece.withoutParameters, ignoringNext);
      for (const place of goingOn) this.push(place, NO_TEXTS, ignoringNext);
      for (const place of ignoringNext) after.add(place);
    }
    if (piece.cut !== undefined) {
      const last: Places<Value> = new Set();
      this.step(beginning, piece.cut, last);
      for (const place of goingOn) this.push(place, NO_TEXTS, last);
      if (piece.mayPrecedePath) last.add(this.root);
      for (const place of last) this.end(place);
    }
    if (piece.mayPrecedePath) after.add(this.root);
    this.beginning = after;
    this.goingOn = piece.mayGoOn ? union(beginning, goingOn) : new Set();
    this.ignoring = piece.mayGoOn ? ignoringNext : new Set();
  }

  /** Counts one step per place and meaning of the piece. */
  private spend({ withoutParameters, cut }: Piece): void {
    const meanings = 1 + (withoutParameters === undefined ? 0 : 1) + (cut === undefined ? 0 : 1);
    this.stepsLeft -= (this.beginning.size + this.goingOn.size) * meanings + this.ignoring.size;
    if (this.stepsLeft >= 0) return;
    throw new RequestError("endpoint", "is too ambiguous: send a normalized path");
  }

  found(): Value[] {
    for (const place of this.beginning) this.end(place);
    const nodes = [...this.passed].map((node) => ({ node, depth: depthOf(node) }));
    nodes.sort((a, b) => a.depth - b.depth);
    const values: Value[] = [];
    for (const { node } of nodes) {
      if (node.open !== undefined) values.push(...node.open);
      if (node.ends !== undefined && this.ended.has(node)) values.push(...node.ends);
    }
    return values;
  }

  /** Adds the places that a piece leads to. */
  private step(from: Places<Value>, { texts, isUp, mayVanish }: Meaning, to: Places<Value>): void {
    for (const place of from) {
      if (texts.length > 0) this.push(place, texts, to);
      if (mayVanish) to.add(place);
      if (isUp) to.add(this.up(place));
    }
  }

  /** Adds the places that one more part leads to. Every part matches `*`, even if it is none of these texts. */
  private push(place: Place<Value>, texts: readonly string[], to: Places<Value>): void {
    let isKnown = false;
    if (!(place instanceof Beyond)) {
      if (place.any !== undefined) {
        to.add(place.any);
        isKnown = true;
      }
      for (const text of texts) {
        const next = place.exact?.get(text);
        if (next === undefined) continue;
        to.add(next);
        isKnown = true;
      }
    }
    // A reading at a known node can do everything that is possible beyond the one before it.
    if (!isKnown) this.pushBeyond(place, to);
  }

  private pushBeyond(place: Place<Value>, to: Places<Value>): void {
    const known = place instanceof Beyond ? place.above : this.firstBeyond.get(place);
    const beyond = known ?? new Beyond(place);
    if (beyond.depth > this.upsLeft) {
      // Nothing leads back from here.
      this.pass(beyond.node);
      return;
    }
    if (known === undefined) {
      if (place instanceof Beyond) place.above = beyond;
      else this.firstBeyond.set(place, beyond);
    }
    to.add(beyond);
  }

  /** Above the root there is only the root. */
  private up(place: Place<Value>): Place<Value> {
    return place instanceof Beyond ? place.below : (place.parent ?? place);
  }

  private end(place: Place<Value>): void {
    if (place instanceof Beyond) this.pass(place.node);
    else {
      this.ended.add(place);
      this.pass(place);
    }
  }

  private pass(node: TrieNode<Value>): void {
    for (let at: TrieNode<Value> | undefined = node; at !== undefined && !this.passed.has(at); at = at.parent) {
      this.passed.add(at);
    }
  }
}

const NO_TEXTS: readonly string[] = [];

function canBeUp({ whole, withoutParameters, cut }: Piece): boolean {
  return whole.isUp || withoutParameters?.isUp === true || cut?.isUp === true;
}

function union<Item>(a: ReadonlySet<Item>, b: ReadonlySet<Item>): Set<Item> {
  if (b.size === 0) return new Set(a);
  return new Set([...a, ...b]);
}

function depthOf<Value>(node: TrieNode<Value>): number {
  let depth = 0;
  for (let at = node.parent; at !== undefined; at = at.parent) depth += 1;
  return depth;
}
