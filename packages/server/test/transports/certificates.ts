import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";

const OPENSSL = "openssl";

/** Files of certificates. */
export interface Certificates {
  at(name: string): string;
  /** What a client sends that trusts the authority `ca` and, if given, has its own certificate. */
  as(name?: "client" | "stranger"): ChannelCredentials;
  remove(): void;
}

/** An authority `ca` with certificates for `server` and `client`, and `other-ca` with one for `stranger`. */
export function makeCertificates(): Certificates {
  const dir = mkdtempSync(join(tmpdir(), "headgate-tls-"));
  const at = (name: string): string => join(dir, name);
  const read = (name: string): Buffer => readFileSync(at(name));
  const openssl = (...args: string[]): void => {
    execFileSync(OPENSSL, args, { cwd: dir, stdio: "ignore" });
  };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  for (const ca of ["ca", "other-ca"]) {
    openssl("req", "-x509", ...key, "-keyout", `${ca}.key`, "-out", `${ca}.pem`, "-days", "2", "-subj", `/CN=${ca}`);
  }
  writeFileSync(at("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
  for (const [name, ca] of [
    ["server", "ca"],
    ["client", "ca"],
    ["stranger", "other-ca"],
  ]) {
    openssl("req", "-new", ...key, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
    const signed = ["-CA", `${ca}.pem`, "-CAkey", `${ca}.key`, "-CAcreateserial", "-days", "2", "-extfile", "names"];
    openssl("x509", "-req", "-in", `${name}.csr`, ...signed, "-out", `${name}.pem`);
  }
  return {
    at,
    as(name) {
      if (name === undefined) return credentials.createSsl(read("ca.pem"));
      return credentials.createSsl(read("ca.pem"), read(`${name}.key`), read(`${name}.pem`));
    },
    remove: () => rmSync(dir, { recursive: true }),
  };
}
