import type { Database } from 'better-sqlite3'
import type { DeliveryAttempt } from '@org/agent-messaging-core/storage'

type Headers = DeliveryAttempt['requestHeaders']
type HeaderColumns = {
  readonly headerNamesSeq: number | null
  readonly headerValues: string | null
}

/** Returns the columns of an attempt's headers, in a transaction. Attempts with the same names share one row of names. */
export function headerWriter(db: Database): (headers: Headers) => HeaderColumns {
  const add = db.prepare<[string]>('insert into header_names (names) values (?)')
  const seqOf = db.prepare<[string], number>('select seq from header_names where names = ?').pluck()
  return (headers) => {
    if (!headers) return { headerNamesSeq: null, headerValues: null }
    const names = Object.keys(headers).join('\n')
    const known = seqOf.get(names)
    // A header that was sent contains no line break.
    return {
      headerNamesSeq: known ?? Number(add.run(names).lastInsertRowid),
      headerValues: Object.values(headers).join('\n'),
    }
  }
}

/** Reads the columns that `headerWriter` returned. */
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
