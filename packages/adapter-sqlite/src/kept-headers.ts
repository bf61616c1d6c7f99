import type { Database } from 'better-sqlite3'
import type { DeliveryAttempt } from '@org/agent-messaging-core/storage'

type Headers = DeliveryAttempt['requestHeaders']
type HeaderColumns = {
  readonly headerNamesSeq: number | null
  readonly headerValues: string | null
}

/** Within a transaction: the columns that hold these headers. The names are kept once for all attempts that have the same. */
export function headerWriter(db: Database): (headers: Headers) => HeaderColumns {
  const add = db.prepare<[string]>('insert into header_names (names) values (?)')
  const seqOf = db.prepare<[string], number>('select seq from header_names where names = ?').pluck()
  return (headers) => {
    if (!headers) return { headerNamesSeq: null, headerValues: null }
    const names = Object.keys(headers).join('\n')
    const known = seqOf.get(names)
    // What was ever sent as a header holds no line break.
    return {
      headerNamesSeq: known ?? Number(add.run(names).lastInsertRowid),
      headerValues: Object.values(headers).join('\n'),
    }
  }
}

/** The inverse of `headerWriter`, given the names. */
export function toHeaders(
  names: string | null,
  values: string | null,
): { requestHeaders?: Record<string, string> } {
  if (names === null || values === null) return {}
  const each = values.split('\n')
  return {
    requestHeaders: Object.fromEntries(names.split('\n').map((name, at) => [name, each[at] ?? ''])),
  }
}
