import type { Command, Option } from "commander";

/** What a shell needs to know to complete a command. */
export interface CommandShape {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionShape[];
  /** Possible values of its argument, or its subcommands. */
  readonly words: readonly string[];
  /** Subcommands whose argument is a file. */
  readonly fileCommands: readonly string[];
}

export interface OptionShape {
  /** `--user`, and `-h` if there is a short form. */
  readonly flags: readonly string[];
  readonly description: string;
  /** The kind of value that the option takes. */
  readonly takes: "nothing" | "text" | "file";
  /** The allowed values, if there are only a few. */
  readonly values: readonly string[];
}

/** The program itself, followed by its commands in the order of the help text. */
export function commandShapes(program: Command): [CommandShape, ...CommandShape[]] {
  const commands = program.createHelp().visibleCommands(program);
  const options = program.createHelp().visibleOptions(program).map(optionShape);
  return [{ ...shapeOf(program), options }, ...commands.map(shapeOf)];
}

function shapeOf(command: Command): CommandShape {
  const below = command.createHelp().visibleCommands(command);
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return {
    name: command.name(),
    description: command.summary() || command.description(),
    options: optionsOf([command, ...below]),
    words: [...choices, ...below.map((each) => each.name())],
    fileCommands: below.filter(takesFile).map((each) => each.name()),
  };
}

function takesFile({ registeredArguments }: Command): boolean {
  return registeredArguments.some((argument) => argument.name() === "file");
}

/** Options of all subcommands together: the shells complete `audit verify` like `audit`. */
function optionsOf(commands: readonly Command[]): OptionShape[] {
  const all = commands.flatMap((command) => command.createHelp().visibleOptions(command)).map(optionShape);
  return [...new Map(all.map((option) => [option.flags.join(), option])).values()];
}

function optionShape({ long, short, flags, description, required, optional, argChoices }: Option): OptionShape {
  const value = /<(file|path)>/.test(flags) ? "file" : "text";
  return {
    flags: [long, short].filter((flag) => flag !== undefined && flag !== null),
    description,
    takes: required || optional ? value : "nothing",
    values: argChoices ?? [],
  };
}
