/** One thing that is wrong with a file, and where. Lines and columns count from 1. */
export interface FileProblem {
  readonly line: number;
  readonly column: number;
  /** As in `rules[3].limit`; empty for the file itself. */
  readonly field: string;
  readonly problem: string;
}

/** A file that cannot be used; nothing in it is applied. */
export class RulesFileError extends Error {
  override readonly name = "RulesFileError";
  readonly code = "HG_BAD_RULES";
  readonly problems: readonly FileProblem[];

  constructor(file: string, problems: readonly FileProblem[]) {
    const first = `${file}:${toldWithPlace(problems[0])}`;
    super(problems.length === 1 ? first : `${first} (and ${problems.length - 1} more)`);
    this.problems = problems;
  }
}

/** `7:12: rules[3].limit: must be …` */
function toldWithPlace({ line, column, field, problem }: FileProblem): string {
  return `${line}:${column}: ${field === "" ? "" : `${field}: `}${problem}`;
}
