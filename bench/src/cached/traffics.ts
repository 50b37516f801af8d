/** The traffic of each process, in a window that does not end during the measurement. */
export interface Traffic {
  readonly name: string;
  readonly about: string;
  readonly processes: number;
  readonly keys: number;
  /** Units per key. */
  readonly limit: number;
  /** Checks per key and process. */
  readonly checksPerKey: number;
  /** Checks per second and process. Default: as many as possible, with 64 in flight. */
  readonly perSecond?: number;
}

export const traffics: readonly Traffic[] = [
  ...[2, 3, 4].map((processes) => ({
    name: `burst-${processes}`,
    about: `${processes} processes ask for 1,000 keys, 20 times each, in any order and as fast as they can; each key may take 10.`,
    processes,
    keys: 1_000,
    limit: 10,
    checksPerKey: 20,
  })),
  {
    name: "wide",
    about: "4 processes ask for 100 keys, 200 times each, in any order and as fast as they can; each key may take 500.",
    processes: 4,
    keys: 100,
    limit: 500,
    checksPerKey: 200,
  },
  {
    name: "hot",
    about: "4 processes ask for one key, each 1,000 times a second for 3 s; it may take 2,000.",
    processes: 4,
    keys: 1,
    limit: 2_000,
    checksPerKey: 3_000,
    perSecond: 1_000,
  },
];
