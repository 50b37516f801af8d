import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import type { Address, Settings } from "../config/settings.ts";
import { addressText } from "../config/values.ts";
import { listening } from "../runtime/listen.ts";
import { type Finding, fail, messageOf, ok, warn } from "./finding.ts";

const ANSWER_MS = 2_000;

/** Whether the node could listen on its addresses. */
export async function portFindings({ http, grpc, tls }: Pick<Settings, "http" | "grpc" | "tls">): Promise<Finding[]> {
  const findings = [await portFinding("http port", "--http", http)];
  if (grpc !== undefined) {
    const isSame = grpc.port !== 0 && grpc.port === http.port && grpc.host === http.host;
    const same = fail("grpc port", `--grpc: ${addressText(grpc)} is also the address of --http: choose another`);
    findings.push(isSame ? same : await portFinding("grpc port", "--grpc", grpc));
  }
  const areTaken = findings.every(({ level }) => level === "fail");
  if (!areTaken || !(await isHeadgate(http, tls !== undefined))) return findings;
  return findings.map(({ about }) =>
    warn(about, "is in use by a running Headgate node: stop it before you start another"),
  );
}

async function portFinding(about: string, flag: string, address: Address): Promise<Finding> {
  const server = createServer();
  try {
    await listening(flag, address, () => {
      return new Promise<void>((resolve, reject) => {
        server.once("error", reject).listen(address, resolve);
      });
    });
    return ok(about, `${addressText(address)} is free`);
  } catch (error) {
    return fail(about, messageOf(error));
  } finally {
    server.close();
  }
}

/** Whether a Headgate node is listening there, because `doctor` is often run next to one. */
function isHeadgate({ host, port }: Address, isSecure: boolean): Promise<boolean> {
  const request = isSecure ? httpsRequest : httpRequest;
  const options = { host, port, path: "/openapi.json", timeout: ANSWER_MS, rejectUnauthorized: false };
  return new Promise((resolve) => {
    const asked = request(options, (response) => {
      text(response).then(
        (body) => resolve(body.includes('"title":"Headgate"')),
        () => resolve(false),
      );
    });
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(false)).end();
  });
}
