import { HeadgateError } from "headgate";
import type { Address } from "../config/settings.ts";
import { addressText } from "../config/values.ts";

const PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: "is taken: another program listens there. Stop it, or choose another port",
  EACCES: "is not for this user: ports below 1024 need more rights. Choose another port",
  EADDRNOTAVAIL: "is no address of this machine",
  ENOTFOUND: "is a name that nobody knows",
};

/** Begins to listen, or says in the user's words why that cannot be. */
export async function listening<Result>(flag: string, address: Address, begin: () => Promise<Result>): Promise<Result> {
  try {
    return await begin();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    // grpc-js tells the code in words only.
    const code = Object.keys(PROBLEMS).find((name) => text.includes(name));
    if (code === undefined) throw error;
    throw new HeadgateError("HG_BAD_OPTION", flag, `${addressText(address)} ${PROBLEMS[code]}`, { cause: error });
  }
}
