import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Debian's, which npm test installs: a literal name would make knip look for it among the packages.
const OPENSSL = "openssl";

/** Files in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Makes a certificate for 127.0.0.1 that is its own authority, and removes it when the process ends. */
export function makeCertificate(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "headgate-certificate-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const subject = ["-subj", "/CN=headgate", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync(OPENSSL, [...kind, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
  return { cert, key };
}
