/** PostgreSQL's SQLSTATE, or the network's code. By its shape: a host's pool may come from another copy of `pg`, with classes of its own. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined
