/** Every kind of limit, as files state it. */
export const kinds: readonly { readonly name: string; readonly spec: (limit: number, window: number) => object }[] = [
  { name: "token_bucket", spec: of("token_bucket") },
  { name: "leaky_bucket", spec: of("leaky_bucket") },
  { name: "gcra", spec: of("gcra") },
  { name: "fixed_window by the clock", spec: of("fixed_window") },
  { name: "fixed_window by the request", spec: of("fixed_window", () => ({ anchor: "request" })) },
  { name: "sliding_window_log", spec: of("sliding_window_log") },
  { name: "sliding_window_counter", spec: of("sliding_window_counter") },
  { name: "bucketed_window", spec: of("bucketed_window", (window) => ({ bucket_width: window / 5 })) },
  { name: "bucketed_window, exact", spec: of("bucketed_window", () => ({ exact: true })) },
];

/** Ten years in seconds: nothing flows back while a test runs. */
export const LONG = 3650 * 86_400;

function of(algorithm: string, more: (window: number) => object = () => ({})) {
  return (limit: number, window: number): object => ({ algorithm, limit, window, ...more(window) });
}
