import { headerLines, type DeliveryAttempt } from '@org/agent-messaging-core/storage'
import type { Database } from 'better-sqlite3'

type Headers = DeliveryAttempt['requestHeaders']
type HeaderColumns = {
  readonly headerNamesSeq: number | null
  readonly headerValues: string | null
}

/**
 * Returns the columns of an attempt's headers, in a transaction. Attempts with the same names share
 * one row of names.
 */
export function headerWriter(db: Database): (headers: Headers) => HeaderColumns {
  const add = db.prepare<[string]>('insert into header_names (names) values (?)')
  const seqOf = db.prepare<[string], number>('select seq from header_names where names = ?').pluck()
  return (headers) => {
    if (!headers) return { headerNamesSeq: null, headerValues: null }
    const { names, values } = headerLines(headers)
    const known = seqOf.get(names)
    return {
      headerNamesSeq: known ?? Number(add.run(names).lastInsertRowid),
      headerValues: values,
    }
  }
}
