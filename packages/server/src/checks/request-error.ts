import { HeadgateError } from "headgate";

/** A request that cannot be answered as it is. Nothing was charged. */
export class RequestError extends HeadgateError {
  override readonly name = "RequestError";

  /** `field`: the field at fault, as the client wrote it. */
  constructor(field: string, problem: string) {
    super("HG_BAD_REQUEST", field, problem);
  }
}
