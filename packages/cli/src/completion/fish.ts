import type { CommandShape, OptionShape } from "./command-shape.ts";

export function fishScript(program: CommandShape, commands: readonly CommandShape[]): string {
  const inside = (name: string): string => quoted(`__fish_seen_subcommand_from ${name}`);
  const lines = [
    "# fish completion for headgate; use: headgate completion fish > ~/.config/fish/completions/headgate.fish",
    "complete -c headgate -f",
    ...program.options.map((option) => `complete -c headgate -n __fish_use_subcommand ${spec(option)}`),
    ...commands.map(({ name, description }) => {
      return `complete -c headgate -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`;
    }),
    ...commands.flatMap(({ name, options, words, fileCommands }) => [
      ...options.map((option) => `complete -c headgate -n ${inside(name)} ${spec(option)}`),
      ...fileCommands.map((below) => `complete -c headgate -n ${inside(below)} -F`),
      ...(words.length > 0 ? [`complete -c headgate -n ${inside(name)} -a ${quoted(words.join(" "))}`] : []),
    ]),
  ];
  return `${lines.join("\n")}\n`;
}

function spec({ flags, description, takes, values }: OptionShape): string {
  const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const text = values.length > 0 ? ["-x", "-a", quoted(values.join(" "))] : ["-x"];
  return [...names, ...{ nothing: [], text, file: ["-r", "-F"] }[takes], "-d", quoted(description)].join(" ");
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, "\\$&")}'`;
}
