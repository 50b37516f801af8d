// Measures one subject in one experiment in a fresh process, so that neither another library's garbage nor what the
// compiler learned from it can affect the figures.
import type { Task } from "../suite.ts";
import { findSuite } from "../suites.ts";
import type { Answer } from "./messages.ts";

async function answer(task: Task): Promise<Answer> {
  try {
    const suite = findSuite(task.suite);
    if (suite === undefined) throw new Error(`there is no suite ${task.suite}`);
    return { ok: true, figures: await suite.measure(task) };
  } catch (error) {
    return { ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}

const task: Task = JSON.parse(process.argv[2] ?? "{}");
const answered = await answer(task);
// Some limiters leave a timer per key behind, so the process would not end by itself.
process.send?.(answered, () => process.exit());
