/**
 * The storage cannot be opened. The message tells the operator the problem and the remedy, without
 * a password.
 */
export class PostgresOpenError extends Error {
  override readonly name = 'PostgresOpenError'
}
