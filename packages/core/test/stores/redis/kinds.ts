import { rateAlgorithms } from "../../../src/algorithms/lookup.ts";

type Kinds = readonly { readonly name: string; readonly spec: (limit: number, window: number) => object }[];

/** Kinds of one algorithm other than the plain one. */
const others: Kinds = [
  { name: "fixed_window by the request", spec: of("fixed_window", () => ({ anchor: "request" })) },
  { name: "bucketed_window of 5", spec: of("bucketed_window", (window) => ({ bucket_width: window / 5 })) },
  { name: "bucketed_window, exact", spec: of("bucketed_window", () => ({ exact: true })) },
];

/** Every kind of limit whose units come back with time, as files state it. */
export const kinds: Kinds = [...rateAlgorithms.map(({ name }) => ({ name, spec: of(name) })), ...others];

/** Ten years in seconds: nothing flows back while a test runs. */
export const LONG = 3650 * 86_400;

function of(algorithm: string, more: (window: number) => object = () => ({})) {
  return (limit: number, window: number): object => ({ algorithm, limit, window, ...more(window) });
}
