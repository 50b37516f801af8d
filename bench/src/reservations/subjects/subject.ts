/** What a program does over and over: for example reserve and settle. Throws if it is denied. */
export type Step = (key: string) => Promise<void>;

export interface StepOptions {
  /** URL of the shared Redis. */
  readonly url: string;
  readonly limit: number;
}
