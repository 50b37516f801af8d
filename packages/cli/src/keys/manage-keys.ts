import { type ExitCode, exitCodes, InvalidInput } from "../failure.ts";
import { Service, type ServiceOptions } from "../rules/service-client.ts";

export interface CreateKeyOptions extends ServiceOptions {
  readonly name?: string;
  readonly roles?: string;
  readonly namespace?: string;
  readonly expiresAt?: string;
}

/** `headgate keys create`. */
export async function createKey(options: CreateKeyOptions): Promise<ExitCode> {
  const { name, roles, namespace, expiresAt, ...service } = options;
  if (name === undefined) throw new InvalidInput("--name: is required: name the program that will use the key");
  if (roles === undefined) throw new InvalidInput("--roles: is required: check, read or write, separated by commas");
  const key = await new Service(service).createKey({
    name,
    roles: roles.split(",").map((role) => role.trim()),
    ...(namespace !== undefined && { namespace }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
  });
  print(key);
  return exitCodes.done;
}

/** `headgate keys list`. */
export async function listKeys(options: ServiceOptions): Promise<ExitCode> {
  for (const key of await new Service(options).keys()) print(key);
  return exitCodes.done;
}

/** `headgate keys revoke`. */
export async function revokeKey(id: string | undefined, options: ServiceOptions): Promise<ExitCode> {
  if (id === undefined) throw new InvalidInput("key_id: is required: headgate keys list prints the ids");
  print(await new Service(options).revokeKey(id));
  return exitCodes.done;
}

function print(key: object): void {
  process.stdout.write(`${JSON.stringify(key)}\n`);
}
