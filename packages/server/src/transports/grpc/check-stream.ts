import type { ServerDuplexStream } from "@grpc/grpc-js";

/** Maximum number of messages of one stream that are processed at the same time. */
const MOST_UNDER_WAY = 16;

type Wire = ServerDuplexStream<Buffer, Buffer>;

/**
 * Answers the messages of a stream as they arrive, reading no faster than the client reads the responses. `answer`
 * throws or rejects to end the stream.
 */
export class AnsweringStream {
  private readonly call: Wire;
  private readonly answer: (message: Buffer) => Buffer | Promise<Buffer>;
  private readonly onEnd: (error?: unknown) => void;
  private underWay = 0;
  private congested = false;
  private noMore = false;
  private over = false;
  private endsWith: unknown;

  constructor(call: Wire, answer: (message: Buffer) => Buffer | Promise<Buffer>, onEnd: (error?: unknown) => void) {
    this.call = call;
    this.answer = answer;
    this.onEnd = onEnd;
    call.on("data", (message: Buffer) => this.take(message));
    call.on("end", () => this.stop());
    call.on("drain", () => {
      this.congested = false;
      this.regulate();
    });
    // The client is gone: results of checks in progress are discarded.
    call.on("cancelled", () => this.finish());
    call.on("error", () => this.finish());
  }

  /** Stops reading, and ends when everything that was read is answered: with an error, if one is given. */
  stop(error?: unknown): void {
    this.noMore = true;
    this.endsWith ??= error;
    this.regulate();
  }

  private take(message: Buffer): void {
    if (this.noMore) return;
    this.underWay += 1;
    try {
      const answer = this.answer(message);
      if (!(answer instanceof Promise)) {
        this.send(answer);
        return;
      }
      answer.then(
        (answer) => this.send(answer),
        (error) => this.fail(error),
      );
      this.regulate();
    } catch (error) {
      this.fail(error);
    }
  }

  private send(answer: Buffer): void {
    this.underWay -= 1;
    if (this.over) return;
    if (!this.call.write(answer)) this.congested = true;
    this.regulate();
  }

  private fail(error: unknown): void {
    this.underWay -= 1;
    this.stop(error);
  }

  private regulate(): void {
    if (this.over) return;
    if (this.noMore && this.underWay === 0) this.finish();
    else if (this.noMore || this.congested || this.underWay >= MOST_UNDER_WAY) this.call.pause();
    else this.call.resume();
  }

  private finish(): void {
    if (this.over) return;
    this.over = true;
    this.noMore = true;
    this.onEnd(this.endsWith);
  }
}
