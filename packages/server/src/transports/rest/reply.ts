import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { HeaderField } from "headgate/http";
import { PROBLEM_TYPE, type ProblemBody } from "./problem.ts";

export function sendHeaders(reply: FastifyReply, fields: readonly HeaderField[]): void {
  for (const { name, value } of fields) reply.header(name, value);
}

export function sendProblem(reply: FastifyReply, body: ProblemBody): FastifyReply {
  return reply.code(body.status).type(PROBLEM_TYPE).header("cache-control", "no-store").send(JSON.stringify(body));
}

/** Bypasses fastify, which would process headers and body again. For the most frequent responses. */
export function sendText(
  reply: FastifyReply,
  status: number,
  type: string,
  fields: readonly HeaderField[],
  text: string,
): void {
  reply.hijack();
  writeText(reply.raw, status, type, fields, text);
}

/** Writes a whole response at once. */
export function writeText(
  response: ServerResponse,
  status: number,
  type: string,
  fields: readonly HeaderField[],
  text: string,
): void {
  const length = Buffer.byteLength(text);
  const headers = ["Content-Type", type, "Content-Length", String(length)];
  for (const { name, value } of fields) headers.push(name, value);
  // If every character is one byte, both encodings are the same, and latin1 is faster.
  response.writeHead(status, headers).write(text, length === text.length ? "latin1" : "utf8");
  // Head and body are sent in one piece. end() with the body would add an empty piece, which costs more.
  response.socket?.uncork();
  response.end();
}
