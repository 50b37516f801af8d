/** Where goes what only operators should know. */
export interface Log {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
