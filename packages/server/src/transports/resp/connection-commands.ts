import { version } from "../../runtime/version.ts";
import type { Arguments, RespCommand, Session } from "./resp-command.ts";
import { NO_AUTH, NO_PROTOCOL, SYNTAX_ERROR, unknownSubcommand, wrongArity } from "./resp-errors.ts";
import { bulkReply, ErrorReply, integerReply, OK, type Reply, type ReplyValue, reply } from "./resp-reply.ts";

const LONGEST_NAME = 128;
/** As clients see it that ask which commands they can use. */
const COMPATIBLE_WITH = "7.2.0";

const INFO = [
  "# Server",
  `redis_version:${COMPATIBLE_WITH}`,
  "server_name:headgate",
  `headgate_version:${version}`,
  "redis_mode:standalone",
  "",
  "# Persistence",
  "loading:0",
  "",
  "# Replication",
  "role:master",
  "",
].join("\r\n");

/** Connecting, and asking about the server: what clients send before the first command of the user. */
export function connectionCommands(all: () => readonly RespCommand[]): readonly RespCommand[] {
  return [
    {
      name: "AUTH",
      arity: -2,
      isOpen: true,
      run(session, args) {
        if (args.count > 3) return SYNTAX_ERROR;
        // The user name is not used: the key says whose it is.
        return session.authenticate(args.argument(args.count - 1)) ?? OK;
      },
    },
    { name: "HELLO", arity: -1, isOpen: true, run: hello },
    {
      name: "QUIT",
      arity: -1,
      isOpen: true,
      run(session) {
        session.quit();
        return OK;
      },
    },
    {
      name: "PING",
      arity: -1,
      run(_, args) {
        if (args.count > 2) return wrongArity("ping");
        return args.count === 1 ? "+PONG\r\n" : bulkReply(args.argument(1));
      },
    },
    { name: "ECHO", arity: 2, run: (_, args) => bulkReply(args.argument(1)) },
    {
      name: "SELECT",
      arity: 2,
      run: (_, args) => (args.argument(1) === "0" ? OK : new ErrorReply("ERR", "DB index is out of range")),
    },
    { name: "CLIENT", arity: -2, run: client },
    { name: "COMMAND", arity: -1, run: (session, args) => command(session, args, all()) },
    { name: "INFO", arity: -1, run: () => bulkReply(INFO) },
  ];
}

/** `HELLO [protocol [AUTH user key] [SETNAME name]]`. */
function hello(session: Session, args: Arguments): Reply {
  const wanted = args.count > 1 ? args.argument(1) : String(session.protocol);
  if (wanted !== "2" && wanted !== "3") return NO_PROTOCOL;
  let name: string | undefined;
  for (let i = 2; i < args.count; ) {
    const option = args.argument(i).toUpperCase();
    if (option === "AUTH" && i + 2 < args.count) {
      const failure = session.authenticate(args.argument(i + 2));
      if (failure !== undefined) return failure;
      i += 3;
    } else if (option === "SETNAME" && i + 1 < args.count) {
      name = args.argument(i + 1);
      i += 2;
    } else {
      return SYNTAX_ERROR;
    }
  }
  if (session.owner === undefined) return NO_AUTH;
  if (name !== undefined) {
    const failure = setName(session, name);
    if (failure !== OK) return failure;
  }
  session.protocol = wanted === "3" ? 3 : 2;
  const { id, protocol: proto } = session;
  const modules: readonly ReplyValue[] = [];
  return reply({ server: "headgate", version, proto, id, mode: "standalone", role: "master", modules }, proto);
}

function client(session: Session, args: Arguments): Reply {
  const subcommand = args.argument(1).toUpperCase();
  switch (subcommand) {
    case "ID":
      return integerReply(session.id);
    case "GETNAME":
      return session.clientName === "" ? reply(null, session.protocol) : bulkReply(session.clientName);
    case "SETNAME":
      return args.count === 3 ? setName(session, args.argument(2)) : wrongArity("client|setname");
    case "SETINFO":
      return args.count === 4 ? OK : wrongArity("client|setinfo");
    case "INFO":
    case "LIST":
      return bulkReply(
        `id=${session.id} addr=${session.address ?? ""} name=${session.clientName} resp=${session.protocol}\n`,
      );
    // Nothing is evicted, and no key is touched by reading it.
    case "NO-EVICT":
    case "NO-TOUCH":
      return OK;
    default:
      return unknownSubcommand("CLIENT", subcommand);
  }
}

function setName(session: Session, name: string): Reply {
  if (name.length > LONGEST_NAME || !/^[\x21-\x7e]*$/.test(name)) {
    return new ErrorReply("ERR", "Client names cannot contain spaces, newlines or special characters.");
  }
  session.clientName = name;
  return OK;
}

function command({ protocol }: Session, args: Arguments, all: readonly RespCommand[]): Reply {
  if (args.count === 1) return reply(all.map(described), protocol);
  const subcommand = args.argument(1).toUpperCase();
  switch (subcommand) {
    case "COUNT":
      return integerReply(all.length);
    case "LIST":
      return reply(
        all.map(({ name }) => name.toLowerCase()),
        protocol,
      );
    case "INFO":
      return reply(infoOf(args, all), protocol);
    // Clients that complete commands ask for it, and do without.
    case "DOCS":
      return reply({}, protocol);
    default:
      return unknownSubcommand("COMMAND", subcommand);
  }
}

function infoOf(args: Arguments, all: readonly RespCommand[]): readonly ReplyValue[] {
  if (args.count === 2) return all.map(described);
  return Array.from({ length: args.count - 2 }, (_, i) => {
    const name = args.argument(i + 2).toUpperCase();
    const found = all.find((command) => command.name === name);
    return found === undefined ? null : described(found);
  });
}

/** Name, arity, flags, and where its keys are. */
function described({ name, arity, isCheck, hasKey }: RespCommand): readonly ReplyValue[] {
  const keys = hasKey ? [1, name === "DEL" ? -1 : 1, 1] : [0, 0, 0];
  return [name.toLowerCase(), arity, [isCheck ? "write" : "fast"], ...keys];
}
