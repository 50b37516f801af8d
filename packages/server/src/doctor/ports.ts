import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import { type ListenerSetting, listenersOf } from "../config/listeners.ts";
import type { Address, Settings } from "../config/settings.ts";
import { addressText } from "../config/values.ts";
import { listening } from "../runtime/listen.ts";
import { type Finding, fail, messageOf, ok, warn } from "./finding.ts";

const ANSWER_MS = 10_000;

/** Whether the node could listen on its addresses. */
export async function portFindings(settings: Settings): Promise<Finding[]> {
  const { http, tls } = settings;
  const findings: Finding[] = [];
  const earlier: ListenerSetting[] = [];
  for (const listener of listenersOf(settings)) {
    const { name, flag, address } = listener;
    const same = earlier.find((other) => isSame(other.address, address));
    findings.push(
      same === undefined
        ? await portFinding(`${name} port`, flag, address)
        : fail(`${name} port`, `${flag}: ${addressText(address)} is also the address of ${same.flag}: choose another`),
    );
    earlier.push(listener);
  }
  const areTaken = findings.every(({ level }) => level === "fail");
  if (!areTaken || !(await isHeadgate(http, tls !== undefined))) return findings;
  return findings.map(({ about }) =>
    warn(about, "is in use by a running Headgate node: stop it before you start another"),
  );
}

function isSame(one: Address, other: Address): boolean {
  if (one.path !== undefined || other.path !== undefined) return one.path === other.path;
  return one.port !== 0 && one.port === other.port && one.host === other.host;
}

async function portFinding(about: string, flag: string, address: Address): Promise<Finding> {
  const server = createServer();
  try {
    await listening(flag, address, () => {
      return new Promise<void>((resolve, reject) => {
        const { host, port, path } = address;
        server.once("error", reject).listen(path === undefined ? { host, port } : { path }, resolve);
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
