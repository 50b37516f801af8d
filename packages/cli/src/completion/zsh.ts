import type { CommandShape, OptionShape } from "./command-shape.ts";

/** Works both when sourced and as a file `_headgate` in $fpath. */
export function zshScript(program: CommandShape, commands: readonly CommandShape[]): string {
  const described = commands.map(({ name, description }) => `    ${quoted(`${name}:${description}`)}`);
  const cases = commands.map(({ name, options, words, fileCommands }) => {
    const rest = words.length > 0 ? [quoted(`1: :(${words.join(" ")})`)] : [];
    if (fileCommands.length > 0) rest.push(quoted("2: :_files"));
    return `        ${name}) _arguments ${[...options.map(spec), ...rest].join(" ")} ;;`;
  });
  return `#compdef headgate
# zsh completion for headgate; use: source <(headgate completion zsh)
_headgate() {
  local context state line
  local -A opt_args
  local -a commands
  commands=(
${described.join("\n")}
  )
  _arguments -C ${program.options.map(spec).join(" ")} '1: :->command' '*:: :->rest'
  case $state in
    command) _describe command commands ;;
    rest)
      case $line[1] in
${cases.join("\n")}
      esac
      ;;
  esac
}
if [[ \${funcstack[1]} == _headgate ]]; then
  _headgate "$@"
else
  compdef _headgate headgate
fi
`;
}

/** Formats an option for `_arguments`: '(--help -h)'{--help,-h}'[text]'. */
function spec({ flags, description, takes, values }: OptionShape): string {
  const value = values.length > 0 ? `: :(${values.join(" ")})` : ": :";
  const text = quoted(
    `[${description.replace(/[[\]:\\]/g, "\\$&")}]${{ nothing: "", text: value, file: ": :_files" }[takes]}`,
  );
  return flags.length === 1 ? `${flags[0]}${text}` : `${quoted(`(${flags.join(" ")})`)}{${flags.join(",")}}${text}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
