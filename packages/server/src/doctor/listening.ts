import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { isLoopback, rejectExposure } from "../config/exposure.ts";
import { listenersOf } from "../config/listeners.ts";
import type { Settings, TlsFiles } from "../config/settings.ts";
import { type Finding, fail, messageOf, ok, warn } from "./finding.ts";

const WEEK_MS = 7 * 24 * 3600 * 1000;

/** Who can connect to the node, and which headers it trusts. */
export function listeningFindings(settings: Settings): readonly Finding[] {
  const { tls } = settings;
  return [exposure(settings), ...(tls === undefined ? [] : [certificate(tls)]), proxies(settings)];
}

function exposure(settings: Settings): Finding {
  try {
    rejectExposure(settings);
  } catch (error) {
    return fail("listening", messageOf(error));
  }
  const isLocal = listenersOf(settings).every(({ address }) => address.path !== undefined || isLoopback(address.host));
  if (isLocal) return ok("listening", "for this machine only");
  if (settings.tls !== undefined) return ok("listening", "for other machines, with TLS");
  return warn("listening", "for other machines, without TLS (--insecure): terminate TLS in a proxy in front of it");
}

function certificate({ cert, key, clientCa }: TlsFiles): Finding {
  try {
    const pem = readFileSync(cert);
    createSecureContext({ cert: pem, key: readFileSync(key), ...(clientCa && { ca: readFileSync(clientCa) }) });
    const until = Date.parse(new X509Certificate(pem).validTo);
    const left = until - Date.now();
    const day = new Date(until).toISOString().slice(0, 10);
    if (left < 0) return fail("certificate", `expired on ${day}: renew it`);
    return left < WEEK_MS
      ? warn("certificate", `expires on ${day}: renew it`)
      : ok("certificate", `valid until ${day}`);
  } catch (error) {
    return fail("certificate", messageOf(error));
  }
}

/** Callers state the address in the check itself; no header that a client could set is used. */
function proxies({ http, insecure }: Settings): Finding {
  if (!insecure || isLoopback(http.host))
    return ok("proxies", "X-Forwarded-For is ignored: the holder of the API key names the client");
  return warn(
    "proxies",
    "X-Forwarded-For is ignored: a proxy that uses GET /api/v1/auth must set X-Headgate-Identifier itself, or clients could choose it",
  );
}
