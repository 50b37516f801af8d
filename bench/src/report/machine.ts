import { arch, availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";

const GIBIBYTE = 2 ** 30;

/** Where and when figures were measured, as `name: value` lines. `nodes`: the versions of Node. */
export function machine(nodes = process.version): [name: string, value: string][] {
  return [
    ["Date", new Date().toISOString().slice(0, 10)],
    ["Node", nodes],
    ["Processor", `${cpus()[0]?.model.trim() ?? "unknown"}, ${availableParallelism()} cores`],
    ["Memory", `${Math.round(totalmem() / GIBIBYTE)} GiB`],
    ["System", `${type()} ${release()} ${arch()}`],
    ["Load before the run", loadavg()[0].toFixed(2)],
  ];
}
