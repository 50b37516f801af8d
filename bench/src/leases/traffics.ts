/** The number of processes and keys. */
export interface Traffic {
  readonly name: string;
  readonly about: string;
  readonly processes: number;
  readonly keys: number;
  /** Long enough for all processes to find their batch sizes. */
  readonly warmUpMs: number;
}

export const traffics: readonly Traffic[] = [
  { name: "hot", about: "4 processes, one key.", processes: 4, keys: 1, warmUpMs: 2_000 },
  { name: "warm", about: "4 processes, 1,000 keys.", processes: 4, keys: 1_000, warmUpMs: 20_000 },
  ...[1, 2, 8].map((processes) => ({
    name: `nodes-${processes}`,
    about: `${processes === 1 ? "1 process" : `${processes} processes`}, one key.`,
    processes,
    keys: 1,
    warmUpMs: 2_000,
  })),
];
