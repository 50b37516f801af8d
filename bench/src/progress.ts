import type { Observer } from "./run/rounds.ts";

/** Reports progress on standard error, because standard output is for the figures; on a terminal, in one line. */
export function progress(stream: NodeJS.WriteStream): Observer & { end(): void } {
  const clear = stream.isTTY ? "\r\u001b[K" : "";
  return {
    measuring(number, total, { suite, experiment, subject }) {
      if (stream.isTTY) stream.write(`${clear}[${number}/${total}] ${suite} ${experiment}: ${subject}`);
    },
    failed({ experiment, subject }, message) {
      stream.write(`${clear}bench: ${subject} in ${experiment}: ${message}\n`);
    },
    end() {
      stream.write(clear);
    },
  };
}
