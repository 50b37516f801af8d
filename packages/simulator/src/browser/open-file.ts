import { HeadgateError } from "headgate";
import { type LogOptions, LogReader } from "../logs/log-reader.ts";

/** A file that a user chose. `File` of browsers is one. */
export type NamedBlob = Blob & { readonly name: string };

const [GZIP_FIRST, GZIP_SECOND] = [0x1f, 0x8b];

/** Opens a log, plain or gzip. `onBytes` is called with the number of bytes of each piece, before decompression. */
export async function openFile(
  file: NamedBlob,
  options: LogOptions,
  onBytes: (bytes: number) => void = () => {},
): Promise<LogReader> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const counted = file.stream().pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        onBytes(piece.length);
        controller.enqueue(piece);
      },
    }),
  );
  const isZipped = first === GZIP_FIRST && second === GZIP_SECOND;
  const bytes = isZipped ? gunzipped(file.name, counted) : piecesOf(counted);
  return new LogReader(file.name, bytes, options);
}

async function* gunzipped(name: string, stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* piecesOf(stream.pipeThrough(new DecompressionStream("gzip")));
  } catch (error) {
    // The file could not be read. Everything else is about its content: browsers also reject gzip files that were joined.
    if (error instanceof DOMException) throw error;
    throw new HeadgateError("HG_BAD_OPTION", "file", `${name} is not a single gzip file: unpack it first`, {
      cause: error,
    });
  }
}

/** Not all browsers can iterate over a stream. */
async function* piecesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}
