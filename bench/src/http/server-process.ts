// Runs a server with one framework and one subject in a separate process, whose CPU time is measured.

import { serving } from "../run/serving.ts";
import { frameworks } from "./frameworks.ts";

/** Longer than any pause between two loads, whatever the framework's default. */
const KEEP_ALIVE_MS = 120_000;

const [framework, subject] = process.argv.slice(2);
const { serve } = await frameworks[framework].load();
const server = await serve(subject);
server.keepAliveTimeout = KEEP_ALIVE_MS;
const address = server.address();
if (typeof address !== "object" || address === null) throw new Error(`${framework} does not listen on a port`);
serving(address.port);
