import { HeadgateError } from "headgate";
import type { Address } from "../config/settings.ts";
import { addressText } from "../config/values.ts";

const PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: "is in use by another program: stop it, or choose another port",
  EACCES: "needs more privileges: choose a port above 1023",
  EADDRNOTAVAIL: "is not an address of this machine",
  ENOTFOUND: "is an unknown host name",
};

/** Starts listening, or throws an error that names the setting. */
export async function listening<Result>(flag: string, address: Address, begin: () => Promise<Result>): Promise<Result> {
  try {
    return await begin();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    // grpc-js reports the code only in the message.
    const code = Object.keys(PROBLEMS).find((name) => text.includes(name));
    if (code === undefined) throw error;
    throw new HeadgateError("HG_BAD_OPTION", flag, `${addressText(address)} ${PROBLEMS[code]}`, { cause: error });
  }
}
