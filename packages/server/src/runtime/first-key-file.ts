import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { HeadgateError } from "headgate";
import type { Settings } from "../config/settings.ts";

const NAME = "first-admin-key";

/** Writes the first admin key to a file that only its owner can read. Returns the file's name. */
export async function keepFirstKey({ data }: Pick<Settings, "data">, secret: string): Promise<string> {
  const file = join(resolve(data), NAME);
  try {
    await mkdir(resolve(data), { recursive: true, mode: 0o700 });
    // A file left by an earlier start may have other permissions, or be a link.
    await rm(file, { force: true });
    await writeFile(file, `${secret}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "--data",
      `${file} cannot be written${code}, but has to hold the first admin key: ` +
        "make the folder writable, or set HEADGATE_ADMIN_KEY",
      { cause: error },
    );
  }
  return file;
}
