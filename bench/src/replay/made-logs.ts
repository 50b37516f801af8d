import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { modelRequests, trafficSource } from "headgate-simulator";

export const COMBINED = "combined.log";
export const MILLION_KEYS = "million-keys.log";

const START = Date.UTC(2026, 0, 1) * 1000;
const LINES = 1_000_000;
const LINES_PER_PIECE = 1_000;
const AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/** Writes the logs that are replayed. */
export async function writeLogs(folder: string): Promise<void> {
  await write(join(folder, COMBINED), zipfLines());
  await write(join(folder, MILLION_KEYS), differentLines());
}

function* zipfLines(): Generator<string> {
  const source = trafficSource({ name: "", rate: 500, keys: 200_000, zipf: 0.8 });
  const model = { seed: 1, start: START, durationMs: LINES * 2, sources: [source] };
  for (const { time, key } of modelRequests(model)) yield line(time, Number(key.slice(1)));
}

function* differentLines(): Generator<string> {
  for (let i = 0; i < LINES; i += 1) yield line(START + i * 2_000, i);
}

function line(time: number, client: number): string {
  const scattered = (Math.imul(client, 0x9e3779b1) >>> 0) & 0xffffff;
  const address = `10.${scattered >> 16}.${(scattered >> 8) & 255}.${scattered & 255}`;
  const [date, clock] = new Date(time / 1000).toISOString().split("T");
  const stamp = `${date.slice(8)}/Jan/${date.slice(0, 4)}:${clock.slice(0, 8)} +0000`;
  return `${address} - - [${stamp}] "GET /api/v1/orders/${client % 977}?page=2 HTTP/1.1" 200 1234 "-" "${AGENT}"\n`;
}

async function write(path: string, lines: Iterable<string>): Promise<void> {
  await pipeline(Readable.from(inPieces(lines)), createWriteStream(path));
}

function* inPieces(lines: Iterable<string>): Generator<string> {
  let piece: string[] = [];
  for (const each of lines) {
    piece.push(each);
    if (piece.length < LINES_PER_PIECE) continue;
    yield piece.join("");
    piece = [];
  }
  yield piece.join("");
}
