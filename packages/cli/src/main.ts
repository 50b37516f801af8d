import { CommanderError } from "commander";
import { told } from "./failure.ts";
import { makeProgram } from "./program.ts";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // `| head` has seen enough: that is no failure.
  if (error.code !== "EPIPE") process.stderr.write(told(new Error(`standard output: ${error.message}`)).line);
  process.exit(error.code === "EPIPE" ? 0 : 1);
});

// What cannot be said there cannot be said anywhere; the exit code tells.
process.stderr.on("error", () => {});

try {
  await makeProgram((code) => {
    process.exitCode = code;
  }).parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode;
  } else {
    const { line, exitCode } = told(error);
    process.stderr.write(line);
    process.exitCode = exitCode;
  }
}
