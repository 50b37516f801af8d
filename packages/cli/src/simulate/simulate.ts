import { simulateTraffic } from "headgate-simulator";
import { type ExitCode, InvalidInput } from "../failure.ts";
import { exitCodeOf, figureNames, figuresOf, readConditions } from "../replay/fail-if.ts";
import { numberIn } from "../replay/number-option.ts";
import { printReport } from "../replay/print-report.ts";
import { rulesForPath, unusedNotes } from "../replay/rules-for-path.ts";
import { Progress } from "../scenario/progress.ts";
import { simulateNodes } from "./simulate-nodes.ts";
import { readSimulation } from "./simulation-file.ts";

export interface SimulateCommandOptions {
  readonly seed?: string;
  readonly top?: string;
  readonly json?: true;
  readonly html?: string;
  readonly failIf?: readonly string[];
}

/** `headgate simulate`: decides the traffic of a model under rules, and reports. */
export async function simulateFile(path: string | undefined, options: SimulateCommandOptions): Promise<ExitCode> {
  if (path === undefined) throw new InvalidInput("FILE: is required, as in headgate simulate flash-crowd.yaml");
  const conditions = readConditions(options.failIf, figureNames(false, false));
  const top = numberIn("--top", options.top ?? "10", 1_000_000);
  const file = await readSimulation(path);
  const { name, model, dimension, rules } = file;
  const seed = options.seed === undefined ? model.seed : Math.floor(numberIn("--seed", options.seed, 2 ** 31));
  if (file.cluster !== undefined) return simulateNodes(file, seed, options);
  // Progress is a share of the time that has passed, shown as if it were bytes of a file.
  const progress = new Progress(process.stderr, 1);
  const report = simulateTraffic({ ...model, seed }, await rulesForPath(rules, dimension), {
    top,
    onProgress: (share, requests) => progress.show(requests, share),
  });
  progress.erase();
  const notes = [`${name}: seed ${seed}`, ...unusedNotes(name, rules, dimension)];
  await printReport(report, {
    ...options,
    page: { title: "Headgate simulation", rules: name, notes },
    json: options.json && { seed, notes },
  });
  return exitCodeOf(conditions, figuresOf(report));
}
