import type { Passed } from "../admission.ts";

/**
 * Reports once how a request ends: the response body was sent completely, the client disconnected, or the handler
 * failed.
 */
export class FetchEnd {
  private readonly request: Request;
  private readonly passed: Passed;
  private readonly signal: AbortSignal;
  /** The status of the response, once there is one. From then on, the platform may send it at any time. */
  private status: number | undefined;
  private isOver = false;

  /**
   * Must be created before the handler runs: Deno aborts a signal only if it was read before the client disconnected.
   */
  constructor(request: Request, passed: Passed) {
    this.request = request;
    this.passed = passed;
    this.signal = request.signal;
    if (this.signal.aborted) this.abort();
    else this.signal.addEventListener("abort", this.abort);
  }

  /** The handler failed, so the platform responds with an error. */
  fail(): void {
    this.status = 500;
    this.end(false);
  }

  /** Follows the response. Returns the response to send in its place. */
  follow(response: Response): Response {
    if (this.isOver) return response;
    const { status, body } = response;
    this.status = status;
    if (body === null || this.request.method === "HEAD") {
      this.end(false);
      return response;
    }
    return new Response(this.followed(body), response);
  }

  private readonly abort = (): void => this.end(true);

  private end(aborted: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    this.signal.removeEventListener("abort", this.abort);
    void this.passed.ended({ status: this.status, aborted });
  }

  private followed(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            const { done, value } = await reader.read();
            if (!done) return controller.enqueue(value);
            this.end(false);
            controller.close();
          } catch (error) {
            this.end(true);
            throw error;
          }
        },
        cancel: (reason) => {
          this.end(true);
          return reader.cancel(reason);
        },
      },
      // Without read-ahead, the end is reached when the platform reads it.
      { highWaterMark: 0 },
    );
  }
}
