import type pg from 'pg'

/** What a pool connects by, as data that a thread can be given. What is none is left out, such as a function that is asked for the password. */
export function connectionOf({ options }: pg.Pool): pg.ClientConfig {
  const { connectionString, host, port, user, password, database, ssl } = options
  return {
    ...dataOf({ connectionString, host, port, user, password, database }),
    // pg hides the key from who copies the rest.
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
