/** Messages of a server process to its parent. */
export type FromServer = { readonly port: number } | { readonly processorMs: number };

/** Reports the port, and from then on answers each message with the CPU time used. */
export function serving(port: number): void {
  tell({ port });
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    tell({ processorMs: (user + system) / 1000 });
  });
  // The parent may have been killed.
  process.once("disconnect", () => process.exit());
  process.once("SIGTERM", () => process.exit());
}

function tell(message: FromServer): void {
  process.send?.(message);
}
