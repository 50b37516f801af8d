import type { fields } from "./fields.ts";

type Values = { readonly [Name in keyof typeof fields]: (typeof fields)[Name]["initial"] };

/** How a node is set up: what flags, environment and file say together. `fields` describes each setting. */
export type Settings = Omit<Values, "tlsCert" | "tlsKey" | "tlsClientCa"> & {
  readonly tls: TlsFiles | undefined;
};

export type LogFormat = "auto" | "json" | "text";

export interface Address {
  readonly host: string;
  readonly port: number;
  /** A Unix socket, instead of host and port. */
  readonly path?: string;
}

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** Clients must present a certificate of this authority. */
  readonly clientCa: string | undefined;
}
