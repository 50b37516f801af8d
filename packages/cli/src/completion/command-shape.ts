import type { Command, Option } from "commander";

/** What a shell must know of a command in order to complete it. */
export interface CommandShape {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionShape[];
  /** What its argument can be. */
  readonly words: readonly string[];
}

export interface OptionShape {
  /** `--user`, and `-h` where there is a short form. */
  readonly flags: readonly string[];
  readonly description: string;
  /** What follows it. */
  readonly takes: "nothing" | "text" | "file";
}

/** The program itself, then each of its commands, as their help shows them. */
export function commandShapes(program: Command): [CommandShape, ...CommandShape[]] {
  const commands = program.createHelp().visibleCommands(program);
  return [{ ...shapeOf(program), words: commands.map((command) => command.name()) }, ...commands.map(shapeOf)];
}

function shapeOf(command: Command): CommandShape {
  return {
    name: command.name(),
    description: command.summary() || command.description(),
    options: command.createHelp().visibleOptions(command).map(optionShape),
    words: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
  };
}

function optionShape({ long, short, flags, description, required, optional }: Option): OptionShape {
  const value = /<(file|path)>/.test(flags) ? "file" : "text";
  return {
    flags: [long, short].filter((flag) => flag !== undefined && flag !== null),
    description,
    takes: required || optional ? value : "nothing",
  };
}
