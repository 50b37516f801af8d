import { readFileSync } from "node:fs";
import { Argument, Command } from "commander";
import type { CheckOptions } from "./check/check.ts";
import { type ExitCode, InvalidInput, told } from "./failure.ts";
import type { ScenarioOptions } from "./scenario/scenario.ts";

const EXIT_CODES = `
Exit codes:
  0  every request was decided, allowed or denied
  1  invalid input
  2  file not found
  3  something was denied, and --fail-on-deny was given
`;

/**
 * The command tree. What a command does is loaded when it runs, so that none pays for another.
 * `finish` is told the exit code. No option is mandatory to commander: it would miss that one before
 * it noticed that the user mistyped it, so commands look for themselves.
 */
export function makeProgram(finish: (code: ExitCode) => void): Command {
  const program = new Command("headgate")
    .description("Rate-limit decisions on the command line")
    .version(readVersion())
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ outputError: (message, write) => write(told(usageError(message)).line) })
    .addHelpText(
      "after",
      `
Examples:
  $ headgate check --user alice
  $ headgate scenario --file scenario.json
  $ headgate help scenario
`,
    );

  program
    .command("check")
    .summary("decide one request of one user")
    .description("Decide one request of one user, whose quota nobody has used yet.")
    .option("--user <id>", "who is asking (required): any string that is not empty", requireValue("--user"))
    .option("--time <seconds>", "when, in seconds since the epoch (default: now)", requireValue("--time"))
    .option(
      "--config <file>",
      "the limits, as a config or a scenario that has one (default: capacity 5, refill_rate 1)",
      requireValue("--config"),
    )
    .option("--fail-on-deny", "exit with 3 if the request is denied")
    .addHelpText(
      "after",
      `${EXIT_CODES}
Examples:
  $ headgate check --user alice
  $ headgate check --user alice --time 0.5 --config limits.json
  $ headgate check --user alice --fail-on-deny && echo welcome

A config:
  {"default": {"capacity": 5, "refill_rate": 1.0},
   "users": {"alice": {"algorithm": "gcra", "limit": 10, "window": 60, "burst": 5}}}
`,
    )
    .action(async (options: CheckOptions) => {
      const { check } = await import("./check/check.ts");
      finish(await check(options));
    });

  program
    .command("scenario")
    .summary("decide the requests of a file")
    .description("Decide the requests of a file in order, one line of JSON for each.")
    .option("--file <path>", "the scenario (required); - reads standard input", requireValue("--file"))
    .option("--fail-on-deny", "exit with 3 if any request is denied")
    .addHelpText(
      "after",
      `${EXIT_CODES}
Examples:
  $ headgate scenario --file scenario.json
  $ cat scenario.json | headgate scenario --file - | grep DENY
  $ headgate scenario --file scenario.json --fail-on-deny > /dev/null || echo too much

A scenario:
  {"config": {"default": {"capacity": 5, "refill_rate": 1.0}, "users": {}},
   "requests": [{"user": "alice", "time": 0.0}, {"user": "bob", "time": 0.5, "cost": 2}]}

Algorithms: token_bucket (the default), leaky_bucket, gcra, fixed_window, sliding_window_log,
sliding_window_counter, bucketed_window; all but the first as {"algorithm", "limit", "window", ...}.

Any number of requests streams in constant memory. On standard input, put config first:
what comes before it is held until it is found.
`,
    )
    .action(async (options: ScenarioOptions) => {
      const { scenario } = await import("./scenario/scenario.ts");
      finish(await scenario(options));
    });

  program
    .command("completion")
    .summary("print a completion script for a shell")
    .description("Print a script that lets a shell complete the commands and options of headgate.")
    .addArgument(new Argument("<shell>", "whose script").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
Examples:
  $ source <(headgate completion bash)       # this shell; in ~/.bashrc for every shell
  $ source <(headgate completion zsh)        # this shell; in ~/.zshrc, after compinit, for every shell
  $ headgate completion fish > ~/.config/fish/completions/headgate.fish
`,
    )
    .action(async (shell: string) => {
      const { completionScript } = await import("./completion/completion.ts");
      process.stdout.write(completionScript(shell, program));
    });

  const names = program.commands.map((command) => command.name());
  program
    .command("help")
    .summary("explain a command")
    .description("Explain a command, or show them all.")
    .addArgument(new Argument("[command]", "which one").choices(names))
    .addHelpText("after", "\nExamples:\n  $ headgate help scenario\n")
    .action((name?: string) => {
      (program.commands.find((command) => command.name() === name) ?? program).outputHelp();
    });

  return program;
}

/** Commander would take the next option for the value of one that has none. */
function requireValue(option: string): (value: string) => string {
  return (value) => {
    if (value.startsWith("--") && !process.argv.includes(`${option}=${value}`))
      throw new InvalidInput(`${option}: needs a value (if that is meant, write ${option}=${value})`);
    return value;
  };
}

/** Commander says "error: …", and a suggestion on a second line. */
function usageError(message: string): Error {
  return new Error(
    message
      .replace(/^error: /, "")
      .trim()
      .replaceAll("\n", " "),
  );
}

function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return version;
}
