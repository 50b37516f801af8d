const METRIC = /^# HELP (\S+) /;

/**
 * Merges expositions in the Prometheus text format whose series differ in a label. All series of a metric follow its
 * description, which is given once.
 */
export function mergeMetrics(texts: readonly string[]): string {
  const metrics = new Map<string, string[]>();
  for (const text of texts) {
    let lines: string[] = [];
    let isNew = true;
    for (const line of text.split("\n")) {
      const [, name] = METRIC.exec(line) ?? [];
      if (name !== undefined) {
        isNew = !metrics.has(name);
        lines = metrics.get(name) ?? [];
        metrics.set(name, lines);
      }
      if (line !== "" && (isNew || !line.startsWith("#"))) lines.push(line);
    }
  }
  return `${[...metrics.values()].map((lines) => lines.join("\n")).join("\n\n")}\n`;
}
