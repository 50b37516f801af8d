/** A connection that checks are sent over, many at a time. */
export interface Line {
  /** Sends a request. `answered` is called with whether it was admitted. */
  ask(request: Buffer, answered: Answered): void;
  close(): void;
}

export type Answered = (isAdmitted: boolean) => void;

/** Called once if the connection breaks, or an answer is an error. */
export type Failed = (error: Error) => void;

/** How checks are sent to a server. The requests of each method need lines of their own. */
export interface Protocol {
  connect(port: number, failed: Failed): Promise<Line>;
  /** A check of a user whose limit is never reached; with `batch`, so many checks of users whose names begin so. */
  ample(user: string): Buffer;
  /** Default: requests of one check. */
  readonly batch?: number;
  /** A check of a user who has {@link SCARCE_LIMIT} a day. */
  scarce(user: string): Buffer;
  /** The same for many users, in as few requests as the protocol has. */
  scarceOfAll(users: readonly string[]): readonly Buffer[];
}

/** Names of so many users that begin alike. */
export function usersOf(beginning: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${beginning}-${i}`);
}

export const AMPLE_LIMIT = 1_000_000_000;
export const SCARCE_LIMIT = 100;
export const DAY_SECONDS = 86_400;

/**
 * Keeps `depth` requests on each line under way until `next` returns none, and resolves when the last is answered.
 * `heard` is called with every answer, and how long it took in milliseconds; if it throws, that ends everything.
 */
export async function closedLoop(
  connect: (failed: Failed) => Promise<readonly Line[]>,
  depth: number,
  next: () => Buffer | undefined,
  heard: (isAdmitted: boolean, ms: number) => void,
): Promise<void> {
  let lines: readonly Line[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      let underWay = 0;
      const send = (line: Line): void => {
        const request = next();
        if (request === undefined) {
          if (underWay === 0) resolve();
          return;
        }
        underWay += 1;
        const sent = performance.now();
        line.ask(request, (isAdmitted) => {
          underWay -= 1;
          try {
            heard(isAdmitted, performance.now() - sent);
          } catch (error) {
            return reject(error);
          }
          send(line);
        });
      };
      connect(reject).then((connected) => {
        lines = connected;
        for (let i = 0; i < depth; i += 1) lines.forEach(send);
      }, reject);
    });
  } finally {
    for (const line of lines) line.close();
  }
}
