import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tlsOptions } from "./tls.ts";

const OPENSSL = "openssl";

let dir: string;
const at = (name: string): string => join(dir, name);

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "headgate-pem-"));
  const openssl = (...args: string[]): void => {
    execFileSync(OPENSSL, args, { cwd: dir, stdio: "ignore" });
  };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=x"];
  for (const name of ["one", "two"]) openssl("req", "-x509", ...key, "-keyout", `${name}.key`, "-out", `${name}.pem`);
  openssl("x509", "-in", "one.pem", "-outform", "der", "-out", "one.crt");
  openssl("pkey", "-in", "one.key", "-outform", "der", "-out", "one.key.der");
  openssl("pkey", "-in", "one.key", "-aes256", "-passout", "pass:word", "-out", "locked.key");
  writeFileSync(at("text"), "not a certificate\n");
  writeFileSync(at("cut.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
});
afterAll(() => rmSync(dir, { recursive: true }));

function failure(cert: string, key: string, clientCa?: string): string {
  try {
    tlsOptions({ cert: at(cert), key: at(key), clientCa: clientCa && at(clientCa) });
  } catch (error) {
    return String(error).replaceAll(`${dir}/`, "");
  }
  return "none";
}

describe("certificates and keys", () => {
  it("are taken in PEM", () => {
    expect(failure("one.pem", "one.key", "two.pem")).toBe("none");
  });

  it.each([
    ["one.crt", "one.key", undefined, /--tls-cert: one\.crt is not in PEM format: .*DER.*openssl x509 -inform der/],
    ["text", "one.key", undefined, /--tls-cert: text is not in PEM format: it has no "BEGIN CERTIFICATE" line/],
    ["one.key", "one.key", undefined, /--tls-cert: one\.key must have a PEM block "CERTIFICATE", but has ".*KEY"/],
    ["cut.pem", "one.key", undefined, /--tls-cert: cut\.pem is not a certificate that can be read/],
    ["one.pem", "one.key.der", undefined, /--tls-key: one\.key\.der is not in PEM format: .*openssl pkey -inform der/],
    ["one.pem", "one.pem", undefined, /--tls-key: one\.pem must have a PEM block "PRIVATE KEY", but has "CERTIFICATE"/],
    ["one.pem", "locked.key", undefined, /--tls-key: locked\.key is protected by a passphrase/],
    ["one.pem", "two.key", undefined, /--tls-key: two\.key is not the private key of the certificate one\.pem/],
    ["one.pem", "one.key", "one.crt", /--tls-client-ca: one\.crt is not in PEM format/],
    ["none.pem", "one.key", undefined, /--tls-cert: none\.pem: no such file/],
  ])("%s with %s and %s are refused by name", (cert, key, clientCa, message) => {
    expect(failure(cert, key, clientCa)).toMatch(message);
  });
});
