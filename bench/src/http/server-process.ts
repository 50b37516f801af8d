// Serves with one framework and one subject, in a process of its own: its processor time is the figure.

import { serving } from "../run/serving.ts";
import { frameworks } from "./frameworks.ts";

/** Longer than any break between two loads, whatever the framework's own default. */
const KEEP_ALIVE_MS = 120_000;

const [framework, subject] = process.argv.slice(2);
const { serve } = await frameworks[framework].load();
const server = await serve(subject);
server.keepAliveTimeout = KEEP_ALIVE_MS;
const address = server.address();
if (typeof address !== "object" || address === null) throw new Error(`${framework} does not listen on a port`);
serving(address.port);
