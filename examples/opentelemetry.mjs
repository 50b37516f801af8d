// Decisions as OpenTelemetry metrics: how many were allowed and denied under each rule, and by what. A real program
// would set up the SDK elsewhere and export to a collector; this one prints the metrics at the end.
import { metrics } from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { fixedWindow, rateLimiter, tokenBucket } from "headgate";
import { decisionMetrics } from "headgate/opentelemetry";

const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const provider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter })] });
metrics.setGlobalMeterProvider(provider);

const limiter = rateLimiter(
  { api: tokenBucket("5/m"), login: fixedWindow("2/15m") },
  { onDecision: decisionMetrics(metrics.getMeter("headgate")) },
);

for (let i = 0; i < 8; i += 1) limiter.checkSync("api", "ann");
for (const user of ["ann", "ann", "ann", "bob"]) await limiter.check("login", user);

await provider.forceFlush();
for (const { scopeMetrics } of exporter.getMetrics()) {
  for (const { descriptor, dataPoints } of scopeMetrics.flatMap(({ metrics }) => metrics)) {
    for (const { attributes, value } of dataPoints) {
      const labels = Object.entries(attributes).map(([name, label]) => `${name}=${label}`);
      console.log(`${descriptor.name} ${labels.join(" ")}: ${value}`);
    }
  }
}
await provider.shutdown();
