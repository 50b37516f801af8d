/** What a server's process says to the one that started it. */
export type FromServer = { readonly port: number } | { readonly processorMs: number };

/** Says where this process serves, and from then on, to any message, what it has used of the processors. */
export function serving(port: number): void {
  tell({ port });
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    tell({ processorMs: (user + system) / 1000 });
  });
  // Who started it may have been killed.
  process.once("disconnect", () => process.exit());
  process.once("SIGTERM", () => process.exit());
}

function tell(message: FromServer): void {
  process.send?.(message);
}
