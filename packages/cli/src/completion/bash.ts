import type { CommandShape } from "./command-shape.ts";

/** Works with bash 3.2 and later; macOS still ships 3.2. */
export function bashScript(program: CommandShape, commands: readonly CommandShape[]): string {
  const all = [program, ...commands];
  const flagsThat = (takes: string): string =>
    [...new Set(all.flatMap((c) => c.options.filter((o) => o.takes === takes).flatMap((o) => o.flags)))].join("|");
  const valued = new Map(
    all
      .flatMap((c) => c.options)
      .filter(({ values }) => values.length > 0)
      .map((o) => [o.flags.join("|"), o.values]),
  );
  const values = [...valued].map(
    ([flags, words]) => `    ${flags}) COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$current")); return ;;\n`,
  );
  const files = commands.flatMap(({ name, fileCommands }) => fileCommands.map((below) => `"${name} ${below}"`));
  const cases = commands.map((command) => `    ${command.name}) words="${wordsOf(command)}" ;;`);
  return `# bash completion for headgate; use: source <(headgate completion bash)
_headgate() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="" below="" words i
  # Bash splits --file=name into three words.
  if [[ "$current" == "=" ]]; then
    current=""
  elif [[ "$previous" == "=" ]]; then
    previous="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ "\${COMP_WORDS[i]}" != -* ]]; then
      if [[ -n "$command" ]]; then
        below="\${COMP_WORDS[i]}"
        break
      fi
      command="\${COMP_WORDS[i]}"
    fi
  done
  COMPREPLY=()
  case "$previous" in
${values.join("")}    ${flagsThat("file")})
      compopt -o filenames 2>/dev/null
      local IFS=$'\\n'
      COMPREPLY=($(compgen -f -- "$current"))
      return
      ;;
    ${flagsThat("text")}) return ;;
  esac
  case "$command $below" in
    ${files.join("|")})
      if [[ "$current" != -* ]]; then
        compopt -o filenames 2>/dev/null
        local IFS=$'\\n'
        COMPREPLY=($(compgen -f -- "$current"))
        return
      fi
      ;;
  esac
  case "$command" in
    "") words="${wordsOf(program)}" ;;
${cases.join("\n")}
    *) return ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _headgate headgate
`;
}

function wordsOf({ words, options }: CommandShape): string {
  return [...words, ...options.flatMap(({ flags }) => flags)].join(" ");
}
