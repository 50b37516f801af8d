import type { RespCommand } from "./resp-command.ts";

/** Spellings of names that are remembered: as documented, in lower case, and what a client has made up. */
const MOST_SPELLINGS = 1_000;

/** The commands by name, in any case. */
export class CommandTable {
  readonly all: readonly RespCommand[];
  private readonly byName: ReadonlyMap<string, RespCommand>;
  private readonly bySpelling = new Map<string, RespCommand>();

  constructor(commands: (all: () => readonly RespCommand[]) => readonly RespCommand[]) {
    this.all = commands(() => this.all);
    this.byName = new Map(this.all.map((command) => [command.name, command]));
  }

  find(name: string): RespCommand | undefined {
    return this.bySpelling.get(name) ?? this.remember(name);
  }

  private remember(name: string): RespCommand | undefined {
    const command = this.byName.get(name.toUpperCase());
    if (command === undefined) return undefined;
    if (this.bySpelling.size >= MOST_SPELLINGS) this.bySpelling.clear();
    this.bySpelling.set(name, command);
    return command;
  }
}
