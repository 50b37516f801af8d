import { readFileSync } from "node:fs";
import { Argument, Command } from "commander";
import type { ListOptions, VerifyOptions } from "./audit/audit.ts";
import type { CheckOptions } from "./check/check.ts";
import { type ExitCode, InvalidInput, told } from "./failure.ts";
import { addRules } from "./rules/commands.ts";
import type { ScenarioOptions } from "./scenario/scenario.ts";
import { addSettings } from "./settings/options.ts";
import type { SettingOptions } from "./settings/settings.ts";
import { addUsers } from "./users/commands.ts";

const EXIT_CODES = `
Exit codes:
  0  every request was decided, allowed or denied
  1  invalid input
  2  file not found
  3  something was denied, and --fail-on-deny was given
`;

const PRECEDENCE = `
Each setting can also come from the environment (HEADGATE_HTTP and so on; HEADGATE_ADMIN_KEY has no flag),
or from the file that --config names (http: 127.0.0.1:8080). A flag wins over the environment, and that over the file.
`;

/**
 * The command tree. What a command does is loaded when it runs, so that none pays for another.
 * `finish` is told the exit code. No option is mandatory to commander: it would miss that one before
 * it noticed that the user mistyped it, so commands look for themselves.
 */
export function makeProgram(finish: (code: ExitCode) => void): Command {
  const program = new Command("headgate")
    .description("Rate limits: decide on the command line, or run the service")
    .version(readVersion())
    .helpCommand(false)
    .exitOverride()
    .addHelpText(
      "after",
      `
Examples:
  $ headgate check --user alice
  $ headgate scenario --file scenario.json
  $ headgate serve
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

  addSettings(program.command("serve"), requireValue)
    .summary("run the service: rules, REST and gRPC")
    .description("Run a node of the service, on this machine's memory and an SQLite file unless told otherwise.")
    .addHelpText(
      "after",
      `${PRECEDENCE}
Examples:
  $ headgate serve
  $ headgate serve --rules rules.yaml --redis redis://127.0.0.1:6379
  $ headgate serve --config headgate.yaml --http 0.0.0.0:8080 --tls-cert cert.pem --tls-key key.pem

Stops on SIGTERM, SIGQUIT or Ctrl-C once it has answered what it had accepted; a second one ends it at once.
SIGHUP reads rules and certificates again, and reopens --log-file.
`,
    )
    .action(async (options: SettingOptions) => {
      const { serveNode } = await import("./serve/serve.ts");
      finish(await serveNode(options));
    });

  addSettings(program.command("config"), requireValue)
    .summary("show the settings that serve would have")
    .description("Show the settings that serve would have with the same flags, and where each comes from.")
    .addHelpText("after", `${PRECEDENCE}\nExamples:\n  $ headgate config\n  $ headgate config --config headgate.yaml\n`)
    .action(async (options: SettingOptions) => {
      const { showSettings } = await import("./settings/show.ts");
      finish(await showSettings(options));
    });

  addSettings(program.command("doctor"), requireValue)
    .summary("look for what would go wrong")
    .description("Look at what serve would stand on with the same flags: one line each, ok, warn or fail.")
    .addHelpText(
      "after",
      `
Exit codes:
  0  nothing fails
  1  something does

Examples:
  $ headgate doctor
  $ headgate doctor --redis redis://127.0.0.1:6379 --rules rules.yaml
`,
    )
    .action(async (options: SettingOptions) => {
      const { examine } = await import("./doctor/doctor.ts");
      finish(await examine(options));
    });

  addRules(program, requireValue, finish);
  addUsers(program, requireValue, finish);

  const audit = program
    .command("audit")
    .summary("read the audit log, and see that nobody has changed it")
    .description("Read the audit log, and see that nobody has changed it.")
    .helpCommand(false)
    .addHelpText("after", "\nExamples:\n  $ headgate audit verify\n  $ headgate audit list --subject user:42\n");

  addSettings(audit.command("verify"), requireValue, ["data", "postgres"])
    .summary("check the hash chain of the audit log")
    .description(
      "Check the hash chain of the audit log: report every entry that was edited, removed, added or moved, and print the head.",
    )
    .option("--head <number:hash>", "a head printed earlier, which must still be in the chain", requireValue("--head"))
    .addHelpText(
      "after",
      `
Exit codes:
  0  the chain is whole
  1  it is broken, or does not contain the expected head

Examples:
  $ headgate audit verify
  $ headgate audit verify --head "$(cat noted-head)"
  $ headgate audit verify --postgres postgres://headgate@127.0.0.1/headgate
`,
    )
    .action(async (options: VerifyOptions & SettingOptions) => {
      const { verifyAudit } = await import("./audit/audit.ts");
      finish(await verifyAudit(options));
    });

  addSettings(audit.command("list"), requireValue, ["data", "postgres"])
    .summary("print entries of the audit log")
    .description("Print entries of the audit log, a line of JSON for each.")
    .option("--subject <subject>", "of whom or what: user:42, rule:orders, key:0f3a", requireValue("--subject"))
    .option("--action <action>", "what was done: rule.update, state.throttled", requireValue("--action"))
    .option("--from <time>", "from this time on, as in 2026-01-31T12:00:00Z", requireValue("--from"))
    .option("--to <time>", "before this time", requireValue("--to"))
    .option("--limit <number>", "no more than so many", requireValue("--limit"))
    .addHelpText("after", "\nExamples:\n  $ headgate audit list --subject user:42 --from 2026-01-31\n")
    .action(async (options: ListOptions & SettingOptions) => {
      const { listAudit } = await import("./audit/audit.ts");
      finish(await listAudit(options));
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

  pointToHelp(program, "headgate");
  return program;
}

/** Has every usage error end with the command whose help answers it. */
function pointToHelp(command: Command, path: string): void {
  command.configureOutput({ outputError: (message, write) => write(told(usageError(message, path)).line) });
  for (const child of command.commands) pointToHelp(child, `${path} ${child.name()}`);
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
function usageError(message: string, path: string): Error {
  const problem = message
    .replace(/^error: /, "")
    .trim()
    .replaceAll("\n", " ");
  return new Error(`${problem.replace(/\.$/, "")}. See ${path} --help.`);
}

function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return version;
}
