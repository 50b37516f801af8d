import { HeadgateError } from "headgate";
import { combined } from "./combined-format.ts";
import { cloudfront, csvFormat } from "./delimited-format.ts";
import { type FieldNames, jsonFormat } from "./json-format.ts";
import { type FieldMapping, type LineParser, type LineRequest, type LogFormat, SKIPPED } from "./log-format.ts";

const CADDY: FieldNames = {
  time: ["ts"],
  key: ["request.client_ip", "request.remote_ip", "request.remote_addr"],
  path: ["request.uri"],
  method: ["request.method"],
};

const ENVOY: FieldNames = {
  time: ["start_time"],
  key: ["downstream_remote_address", "downstream_remote_address_without_port", "downstream_direct_remote_address"],
  path: ["path", "x_envoy_original_path"],
  method: ["method"],
};

/** Names that are common in logs of applications. */
const COMMON: FieldNames = {
  time: ["time", "timestamp", "@timestamp", "ts", "time_iso8601", "msec", "date", "datetime", "start_time"],
  key: ["key", "user", "user_id", "api_key", "ip", "client_ip", "remote_addr", "remote_ip", "client", "c-ip"],
  path: ["path", "uri", "request_uri", "url", "endpoint", "cs-uri-stem"],
  method: ["method", "request_method", "http_method", "cs-method"],
};

/** Every format by its name. Detection tries them in this order. */
export const logFormats: readonly LogFormat[] = [
  combined,
  cloudfront,
  jsonFormat("caddy", CADDY, true),
  jsonFormat("envoy", ENVOY, true),
  jsonFormat("json", COMMON),
  csvFormat(COMMON),
];

export function formatNamed(name: string): LogFormat {
  const format = logFormats.find((known) => known.name === name);
  if (format !== undefined) return format;
  const names = logFormats.map(({ name }) => name).join(", ");
  throw new HeadgateError("HG_BAD_OPTION", "format", `must be one of ${names}, got ${JSON.stringify(name)}`);
}

/**
 * The format that reads most of the lines; undefined if none reads at least half of them. If there is nothing but a
 * header, as at the start of a stream, it is the format of the header.
 */
export function detectFormat(lines: readonly string[], mapping: FieldMapping = {}): LogFormat | undefined {
  let best: LogFormat | undefined;
  let most = 0;
  const hasContent = lines.some((line) => line.trim() !== "");
  for (const format of logFormats) {
    const { read, failed } = tried(format, lines, mapping);
    if (failed === 0 && hasContent) best ??= format;
    if (read > most && read >= failed) {
      best = format;
      most = read;
    }
  }
  return best;
}

function tried(format: LogFormat, lines: readonly string[], mapping: FieldMapping): { read: number; failed: number } {
  let read = 0;
  let failed = 0;
  const into: LineRequest = { time: 0, key: "", path: "", method: "", cost: 1 };
  try {
    const parser: LineParser = format.open(mapping);
    for (const line of lines) {
      const result = parser.read(line, 0, line.length, into);
      if (result === undefined) read += 1;
      else if (result !== SKIPPED) failed += 1;
    }
  } catch (error) {
    // The format does not have the fields.
    if (!(error instanceof HeadgateError)) throw error;
    return { read: 0, failed: lines.length };
  }
  return { read, failed };
}
