import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** A program that someone else wrote: what it is called, and the variable that can name its file. */
export interface ProgramName {
  readonly name: string;
  readonly variable: string;
}

/** Where a program is; undefined if it is neither named by its variable nor on the PATH. */
export function findProgram({ name, variable }: ProgramName): string | undefined {
  const named = process.env[variable];
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const places = named === undefined ? folders.map((folder) => join(folder, name)) : [named];
  return places.find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
