import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { SecureContextOptions, TlsOptions } from "node:tls";
import { HeadgateError } from "headgate";
import type { TlsFiles } from "../config/settings.ts";

const CERT = "--tls-cert";
const KEY = "--tls-key";
const CLIENT_CA = "--tls-client-ca";

/** Reads the options of a TLS server from files. Throws an error that names the file at fault. */
export function tlsOptions(files: TlsFiles): SecureContextOptions & TlsOptions {
  const cert = readCertificate(CERT, files.cert);
  const key = readKey(files.key);
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
    throw bad(KEY, files.key, `is not the private key of the certificate ${files.cert}`);
  }
  const { clientCa } = files;
  const ca = clientCa === undefined ? {} : { ca: readCertificate(CLIENT_CA, clientCa), requestCert: true };
  return { cert, key, ...ca };
}

function readCertificate(flag: string, file: string): Buffer {
  const pem = readPem(flag, file, "CERTIFICATE", `openssl x509 -inform der -in ${file} -out ${file}.pem`);
  try {
    new X509Certificate(pem);
  } catch (error) {
    throw bad(flag, file, `is not a certificate that can be read (${messageOf(error)})`, error);
  }
  return pem;
}

function readKey(file: string): Buffer {
  const pem = readPem(KEY, file, "PRIVATE KEY", `openssl pkey -inform der -in ${file} -out ${file}.pem`);
  if (/^-----BEGIN ENCRYPTED|^Proc-Type: .*ENCRYPTED/m.test(pem.toString("latin1"))) {
    throw bad(KEY, file, `is protected by a passphrase; remove it with openssl pkey -in ${file} -out ${file}.pem`);
  }
  try {
    createPrivateKey(pem);
  } catch (error) {
    throw bad(KEY, file, `is not a private key that can be read (${messageOf(error)})`, error);
  }
  return pem;
}

/** `convert` is the command that converts DER, the other common format, to PEM. */
function readPem(flag: string, file: string, label: string, convert: string): Buffer {
  const bytes = read(flag, file);
  const text = bytes.toString("latin1");
  if (new RegExp(`^-----BEGIN [A-Z0-9 ]*${label}-----`, "m").test(text)) return bytes;
  const other = /^-----BEGIN ([A-Z0-9 ]+)-----/m.exec(text)?.[1];
  if (other !== undefined) throw bad(flag, file, `must have a PEM block "${label}", but has "${other}"`);
  // DER starts with an ASN.1 sequence.
  const advice = bytes[0] === 0x30 ? `it looks like DER, so convert it: ${convert}` : `it has no "BEGIN ${label}" line`;
  throw bad(flag, file, `is not in PEM format: ${advice}`);
}

function read(flag: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw bad(flag, file, code === "ENOENT" ? "no such file" : `cannot be read (${code})`, error);
  }
}

function bad(flag: string, file: string, problem: string, cause?: unknown): HeadgateError {
  const text = problem === "no such file" ? `${file}: ${problem}` : `${file} ${problem}`;
  return new HeadgateError("HG_BAD_OPTION", flag, text, { cause });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
