import { readFileSync } from "node:fs";
import { Argument, Command } from "commander";
import { algorithms } from "headgate";
import type { ListOptions, VerifyOptions } from "./audit/audit-command.ts";
import type { CheckOptions } from "./check/check-command.ts";
import { type ExitCode, InvalidInput, reported } from "./failure.ts";
import { addKeys } from "./keys/keys-commands.ts";
import { addReplay } from "./replay/replay-command.ts";
import { addReservations } from "./reservations/reservations-commands.ts";
import { addRules } from "./rules/rules-commands.ts";
import type { ScenarioOptions } from "./scenario/scenario.ts";
import { addSettings } from "./settings/setting-options.ts";
import type { SettingOptions } from "./settings/settings-of-flags.ts";
import { addSimulate } from "./simulate/simulate-command.ts";
import { addSuggest } from "./suggest/suggest-command.ts";
import { addUsers } from "./users/users-commands.ts";

const EXIT_CODES = `
Exit codes:
  0  every request was decided, allowed or denied
  1  invalid input
  2  file not found
  3  a request was denied, and --fail-on-deny was given
`;

const PRECEDENCE = `
Each setting can also come from the environment (HEADGATE_HTTP and so on; HEADGATE_ADMIN_KEY and
HEADGATE_RECORD_SECRET have no flag), or from the file given with --config (http: 127.0.0.1:8080). Flags take precedence
over the environment, and the environment over the file.
`;

const NAMES = Object.values(algorithms).flatMap(({ name, traits }) => ("releasable" in traits ? [] : name));
const ALGORITHMS = `A limit without "algorithm" is a ${NAMES[0]}. The other algorithms are ${NAMES.slice(1, 4).join(", ")},
${NAMES.slice(4, -1).join(", ")} and ${NAMES.at(-1)}, as in {"algorithm": "gcra", "limit": 10, "window": 60}.`;

/**
 * Builds the command tree. The code of a command is loaded when the command runs, to keep start-up fast. `finish`
 * receives the exit code. No option is mandatory for commander, which would report a missing option before it noticed
 * that the user had mistyped it; the commands check for themselves.
 */
export function makeProgram(finish: (code: ExitCode) => void): Command {
  const program = new Command("headgate")
    .description("Rate limiting: run the service, or decide requests on the command line")
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
    .description("Decide one request of a user whose quota is unused.")
    .option("--user <id>", "the user (required): any non-empty string", requireValue("--user"))
    .option(
      "--time <seconds>",
      "time of the request, in seconds since the epoch (default: now)",
      requireValue("--time"),
    )
    .option(
      "--config <file>",
      "file with the limits: a config, or a scenario that contains one (default: capacity 5, refill_rate 1)",
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
      const { check } = await import("./check/check-command.ts");
      finish(await check(options));
    });

  program
    .command("scenario")
    .summary("decide the requests in a file")
    .description("Decide the requests in a file in order, and print one line of JSON for each.")
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

${ALGORITHMS}

Requests are streamed in constant memory. On standard input, put config first: requests
before it are buffered until it is found.
`,
    )
    .action(async (options: ScenarioOptions) => {
      const { scenario } = await import("./scenario/scenario.ts");
      finish(await scenario(options));
    });

  addReplay(program, requireValue, finish);
  addSuggest(program, requireValue, finish);
  addSimulate(program, requireValue, finish);

  addSettings(program.command("serve"), requireValue)
    .summary("run the service: rules, REST and gRPC")
    .description("Run a node of the service. By default it keeps counters in memory and rules in an SQLite file.")
    .addHelpText(
      "after",
      `${PRECEDENCE}
Examples:
  $ headgate serve
  $ headgate serve --rules rules.yaml --redis redis://127.0.0.1:6379
  $ headgate serve --workers auto
  $ headgate serve --config headgate.yaml --http 0.0.0.0:8080 --tls-cert cert.pem --tls-key key.pem

SIGTERM, SIGQUIT and Ctrl-C stop the node after it has answered all accepted requests; a second one stops it at once.
SIGHUP reloads rules and certificates, and reopens --log-file. SIGUSR2 restarts the workers one after the other.
`,
    )
    .action(async (options: SettingOptions) => {
      const { serveNode } = await import("./serve/serve-command.ts");
      finish(await serveNode(options));
    });

  addSettings(program.command("config"), requireValue)
    .summary("show the settings that serve would use")
    .description("Show the settings that serve would use with the same flags, and the source of each.")
    .addHelpText("after", `${PRECEDENCE}\nExamples:\n  $ headgate config\n  $ headgate config --config headgate.yaml\n`)
    .action(async (options: SettingOptions) => {
      const { showSettings } = await import("./settings/show-settings.ts");
      finish(await showSettings(options));
    });

  addSettings(program.command("doctor"), requireValue)
    .summary("check the environment of the service for problems")
    .description("Check everything that serve depends on, with the same flags. Prints ok, warn or fail for each item.")
    .addHelpText(
      "after",
      `
Exit codes:
  0  no check failed
  1  at least one check failed

Examples:
  $ headgate doctor
  $ headgate doctor --redis redis://127.0.0.1:6379 --rules rules.yaml
`,
    )
    .action(async (options: SettingOptions) => {
      const { examine } = await import("./doctor/doctor-command.ts");
      finish(await examine(options));
    });

  addRules(program, requireValue, finish);
  addUsers(program, requireValue, finish);
  addKeys(program, requireValue, finish);
  addReservations(program, requireValue, finish);

  const audit = program
    .command("audit")
    .summary("read and verify the audit log")
    .description("Read the audit log, and verify that it has not been changed.")
    .helpCommand(false)
    .addHelpText("after", "\nExamples:\n  $ headgate audit verify\n  $ headgate audit list --subject user:42\n");

  addSettings(audit.command("verify"), requireValue, ["data", "postgres"])
    .summary("check the hash chain of the audit log")
    .description(
      "Check the hash chain of the audit log: report every entry that was edited, removed, added or moved, and print the head.",
    )
    .option(
      "--head <number:hash>",
      "a head from an earlier run, which must still be in the chain",
      requireValue("--head"),
    )
    .addHelpText(
      "after",
      `
Exit codes:
  0  the chain is intact
  1  the chain is broken, or does not contain the expected head

Examples:
  $ headgate audit verify
  $ headgate audit verify --head "$(cat noted-head)"
  $ headgate audit verify --postgres postgres://headgate@127.0.0.1/headgate
`,
    )
    .action(async (options: VerifyOptions & SettingOptions) => {
      const { verifyAudit } = await import("./audit/audit-command.ts");
      finish(await verifyAudit(options));
    });

  addSettings(audit.command("list"), requireValue, ["data", "postgres"])
    .summary("print entries of the audit log")
    .description("Print entries of the audit log, one line of JSON for each.")
    .option(
      "--subject <subject>",
      "only entries about this subject: user:42, rule:orders, key:0f3a",
      requireValue("--subject"),
    )
    .option(
      "--action <action>",
      "only entries with this action: rule.update, state.throttled",
      requireValue("--action"),
    )
    .option("--from <time>", "only entries at or after this time, as in 2026-01-31T12:00:00Z", requireValue("--from"))
    .option("--to <time>", "only entries before this time", requireValue("--to"))
    .option("--limit <number>", "maximum number of entries", requireValue("--limit"))
    .addHelpText("after", "\nExamples:\n  $ headgate audit list --subject user:42 --from 2026-01-31\n")
    .action(async (options: ListOptions & SettingOptions) => {
      const { listAudit } = await import("./audit/audit-command.ts");
      finish(await listAudit(options));
    });

  program
    .command("completion")
    .summary("print a completion script for a shell")
    .description("Print a script that adds completion of headgate commands and options to a shell.")
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish"]))
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
    .summary("show the help of a command")
    .description("Show the help of a command, or list all commands.")
    .addArgument(new Argument("[command]", "the command").choices(names))
    .addHelpText("after", "\nExamples:\n  $ headgate help scenario\n")
    .action((name?: string) => {
      (program.commands.find((command) => command.name() === name) ?? program).outputHelp();
    });

  pointToHelp(program, "headgate");
  return program;
}

/** Ends every usage error with a pointer to the help of the command. */
function pointToHelp(command: Command, path: string): void {
  command.configureOutput({ outputError: (message, write) => write(reported(usageError(message, path)).line) });
  for (const child of command.commands) pointToHelp(child, `${path} ${child.name()}`);
}

/** Without this, commander would take the next option as the value of an option without one. */
function requireValue(option: string): (value: string) => string {
  return (value) => {
    if (value.startsWith("--") && !process.argv.includes(`${option}=${value}`))
      throw new InvalidInput(`${option}: needs a value (for the value ${value}, write ${option}=${value})`);
    return value;
  };
}

/** Commander prefixes messages with "error: " and puts suggestions on a second line. */
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
