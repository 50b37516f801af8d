import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Spread } from "./histogram.ts";

type Labels = Readonly<Record<string, string>>;
export type Series = readonly [labels: Labels, value: number];
export type SpreadSeries = readonly [labels: Labels, spread: Spread];

/** A counter whose values are kept elsewhere and read when scraped. */
export function foldCounter(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
  read: () => Iterable<Series>,
): void {
  new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of read()) this.inc(labels, value);
    },
  });
}

/** A gauge whose value is read when scraped. */
export function foldGauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
  read: () => Iterable<Series>,
): void {
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of read()) this.set(labels, value);
    },
  });
}

export function foldHistogram(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
  read: () => Iterable<SpreadSeries>,
): void {
  new FoldedHistogram(name, help, labelNames, registry, read);
}

/** prom-client's histogram counts one value at a time, which costs more than a whole check. */
class FoldedHistogram extends Histogram {
  private readonly about: { readonly name: string; readonly help: string };
  private readonly read: () => Iterable<SpreadSeries>;

  constructor(
    name: string,
    help: string,
    labelNames: string[],
    registry: Registry,
    read: () => Iterable<SpreadSeries>,
  ) {
    super({ name, help, labelNames, registers: [registry] });
    this.about = { name, help };
    this.read = read;
  }

  /** Called by the registry when it writes text. */
  async getForPromString() {
    const values = [...this.read()].flatMap(([labels, spread]) => this.valuesOf(labels, spread));
    return { ...this.about, type: "histogram", values };
  }

  private valuesOf(labels: Labels, { bounds, counts, sum }: Spread) {
    const { name } = this.about;
    let total = 0;
    const buckets = [...counts].map((count, index) => {
      total += count;
      return { metricName: `${name}_bucket`, labels: { ...labels, le: bounds[index] ?? "+Inf" }, value: total };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: total },
    ];
  }
}
