import { readFileSync } from "node:fs";
import type { SecureContextOptions, TlsOptions } from "node:tls";
import { HeadgateError } from "headgate";
import type { TlsFiles } from "../config/settings.ts";

/** What a server with TLS needs, from the files. */
export function tlsOptions({ cert, key, clientCa }: TlsFiles): SecureContextOptions & TlsOptions {
  const ca = clientCa === undefined ? {} : { ca: read("--tls-client-ca", clientCa), requestCert: true };
  return { cert: read("--tls-cert", cert), key: read("--tls-key", key), ...ca };
}

function read(flag: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    const problem = code === "ENOENT" ? "no such file" : `cannot be read (${code})`;
    throw new HeadgateError("HG_BAD_OPTION", flag, `${file}: ${problem}`, { cause: error });
  }
}
