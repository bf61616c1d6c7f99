import type { Page } from '@org/agent-messaging-core'
import type { PageOf } from '@org/agent-messaging-core/storage'

/** Ids grow with time, so they order the rows. A cursor whose row was deleted keeps its place. */
export function newestFirst<T extends { readonly id: string }>(
  rows: readonly T[],
  { limit, cursor }: PageOf,
): Page<T> {
  const following = rows.filter(({ id }) => cursor === undefined || id < cursor)
  return cut(
    following.sort((a, b) => (a.id < b.id ? 1 : -1)),
    limit,
  )
}

export function oldestFirst<T extends { readonly id: string }>(
  rows: readonly T[],
  { limit, cursor }: PageOf,
): Page<T> {
  const following = rows.filter(({ id }) => cursor === undefined || id > cursor)
  return cut(
    following.sort((a, b) => (a.id < b.id ? -1 : 1)),
    limit,
  )
}

function cut<T extends { readonly id: string }>(rows: readonly T[], limit: number): Page<T> {
  const data = rows.slice(0, limit)
  return { data, nextCursor: rows.length > limit ? (data.at(-1)?.id ?? null) : null }
}
