const COLOURS: Readonly<Record<string, string>> = { warn: "\x1b[33m", error: "\x1b[31m", fatal: "\x1b[31m" };
const DIM = "\x1b[2m";
const RESET = "\x1b[0m";
/** Fields that are the same in every line or shown in another way. */
const HIDDEN = new Set(["level", "time", "pid", "hostname", "name", "msg", "err"]);

/** Control characters, and characters that change the direction of text. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu;

/** Formats a JSON log line for people: `15:04:05.123 INFO  ready http=http://127.0.0.1:8080`. */
export function logText(line: string, withColours: boolean): string {
  const entry = parsed(line);
  if (entry === undefined) return line;
  const { level, time, msg, err } = entry;
  const name = String(level);
  const label = name.toUpperCase().padEnd(5);
  const clock = String(time).slice(11, 23);
  const fields = Object.entries(entry)
    .filter(([key]) => !HIDDEN.has(key))
    .map(([key, value]) => `${printable(key)}=${valueText(value)}`);
  const failure = failureText(err, msg);
  const paint = (code: string | undefined, text: string): string =>
    withColours && code !== undefined ? `${code}${text}${RESET}` : text;
  const words = [
    paint(DIM, clock),
    paint(COLOURS[name], label),
    printable(String(msg ?? "")),
    paint(DIM, fields.join(" ")),
  ];
  return `${words.filter((word) => word !== "").join(" ")}${failure}\n`;
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === "object" && entry !== null ? { ...entry } : undefined;
  } catch {
    return undefined;
  }
}

function valueText(value: unknown): string {
  if (typeof value === "string" && /^[^\s"=]+$/.test(value)) return printable(value);
  return printable(JSON.stringify(value) ?? "");
}

function printable(text: string): string {
  return text.replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** An error on separate lines: the stack of an unexpected error, otherwise the message. */
function failureText(err: unknown, msg: unknown): string {
  if (typeof err !== "object" || err === null) return "";
  const message = "message" in err ? String(err.message) : "";
  const isExpected = "code" in err || !("stack" in err);
  const text = isExpected ? message : String(err.stack);
  if (text === "" || text === msg) return "";
  return text
    .split("\n")
    .map((line) => `\n  ${printable(line)}`)
    .join("");
}
