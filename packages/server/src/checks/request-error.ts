/** A request that cannot be answered as it is. Nothing was charged. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  /** The field at fault, as the client wrote it. */
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.field = field;
  }
}
