import type pg from 'pg'

/**
 * Returns the connection options of a pool as data for a thread. Leaves out functions, such as one
 * that returns the password.
 */
export function connectionOf({ options }: pg.Pool): pg.ClientConfig {
  const { connectionString, host, port, user, password, database, ssl } = options
  return {
    ...dataOf({ connectionString, host, port, user, password, database }),
    // pg hides the key from a copy of its options.
    ...(ssl !== undefined && {
      ssl: typeof ssl === 'object' ? dataOf({ ...ssl, key: ssl.key }) : ssl,
    }),
  }
}

const dataOf = <T extends object>(parts: T): Partial<T> =>
  Object.fromEntries(Object.entries(parts).filter(([, part]) => isData(part))) as Partial<T>

const isData = (part: unknown): boolean =>
  ['string', 'number', 'boolean'].includes(typeof part) ||
  part instanceof Uint8Array ||
  (Array.isArray(part) && part.every(isData))
