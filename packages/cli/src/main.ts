import cluster from "node:cluster";
import { CommanderError } from "commander";
import { reported } from "./failure.ts";
import { makeProgram } from "./program.ts";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A closed pipe, as with `| head`, is not a failure.
  if (error.code !== "EPIPE") process.stderr.write(reported(new Error(`standard output: ${error.message}`)).line);
  process.exit(error.code === "EPIPE" ? 0 : 1);
});

// If standard error cannot be written, only the exit code is left to report a failure.
process.stderr.on("error", () => {});

try {
  await makeProgram((code) => {
    process.exitCode = code;
  }).parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode;
  } else {
    const { line, exitCode } = reported(error);
    process.stderr.write(line);
    process.exitCode = exitCode;
  }
}

// The channel to the supervisor would keep the process running.
if (cluster.isWorker) process.exit();
