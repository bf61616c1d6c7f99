import { errAsync, type ResultAsync } from 'neverthrow'
import { broken, isUuid, type Invalid, type Rule } from './input-rules.js'

/** A page has 50 rows by default. `cursor` is the `nextCursor` of the page before. */
export type PageInput = {
  /** The most rows of the page, 1 to 100. Default: 50. */
  readonly limit?: number | undefined
  /** The `nextCursor` of the page before. */
  readonly cursor?: string | undefined
}
/** Names the project whose rows a call lists. */
export type ListInput = PageInput & { readonly projectId: string }

const DEFAULT_LIMIT = 50

/** Lists a page. Refuses one that a caller without types has filled wrongly. */
export function ofPage<T, E>(
  { limit = DEFAULT_LIMIT, cursor }: PageInput,
  list: (page: {
    readonly limit: number
    readonly cursor?: string | undefined
  }) => ResultAsync<T, E>,
  isCursor: (cursor: string) => boolean = isUuid,
): ResultAsync<T, E | Invalid> {
  const problem = broken(pageRules({ limit, cursor }, isCursor))
  if (problem) return errAsync(problem.error)
  return list({ limit, cursor })
}

/** A store reads one row more, and PostgreSQL counts with 32 bits. */
const MOST = 2 ** 31 - 2
const isCount = (limit: unknown): boolean =>
  Number.isInteger(limit) && Number(limit) > 0 && Number(limit) <= MOST

function pageRules(
  { limit, cursor }: { readonly limit: unknown; readonly cursor: unknown },
  isCursor: (cursor: string) => boolean,
) {
  const isOfList = cursor === undefined || (typeof cursor === 'string' && isCursor(cursor))
  return {
    limit: isCount(limit) ? undefined : 'must be a whole number above 0',
    cursor: isOfList ? undefined : 'must be the nextCursor of the page before',
  } satisfies Record<string, Rule>
}

/** Returns a page of rows that are all here, the bad ones first. */
export function badFirst<Row extends { readonly id: string }>(
  rows: readonly Row[],
  isBad: (row: Row) => boolean,
  { cursor, limit }: { readonly limit: number; readonly cursor?: string | undefined },
): { readonly data: readonly Row[]; readonly nextCursor: string | null } {
  const sorted = [...rows.filter(isBad), ...rows.filter((row) => !isBad(row))]
  const start = sorted.findIndex(({ id }) => id === cursor) + 1
  const data = sorted.slice(start, start + limit)
  const last = start + limit < sorted.length ? data.at(-1) : undefined
  return { data, nextCursor: last?.id ?? null }
}
