/** The log for operators. */
export interface Log {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
