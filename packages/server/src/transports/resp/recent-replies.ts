/** Must be a power of two. */
const PLACES = 256;

/**
 * Replies that consist of two numbers, by these numbers. To put a reply together from its lines takes longer than all
 * the rest of a check, and most replies are like one of those before.
 */
export class RecentReplies {
  private readonly firsts = new Float64Array(PLACES).fill(-1);
  private readonly seconds = new Float64Array(PLACES);
  private readonly texts = new Array<string>(PLACES).fill("");

  /** The reply to these numbers, neither negative; undefined if it is not among the last ones. */
  find(first: number, second: number): string | undefined {
    const place = first & (PLACES - 1);
    return this.firsts[place] === first && this.seconds[place] === second ? this.texts[place] : undefined;
  }

  keep(first: number, second: number, text: string): string {
    const place = first & (PLACES - 1);
    // Reading a character makes V8 join the parts of a text, once instead of with each reply.
    text.charCodeAt(0);
    this.firsts[place] = first;
    this.seconds[place] = second;
    this.texts[place] = text;
    return text;
  }
}
