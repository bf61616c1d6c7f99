import { given } from '../domain/values/given.js'
import { toIsoIfSet } from '../domain/values/instant.js'
import type { Page } from '../ports/stored.js'

/** A page as the API shows it. `lookedBackTo` is the time of the oldest row that a search saw. */
export type ShownPage<Row> = Omit<Page<Row>, 'lookedBackTo'> & {
  readonly lookedBackTo?: string
}

export const shownPage = <T, Row>(
  { data, nextCursor, lookedBackTo }: Page<T>,
  shown: (row: T) => Row,
): ShownPage<Row> => ({
  data: data.map(shown),
  nextCursor,
  ...given({ lookedBackTo: toIsoIfSet(lookedBackTo) }),
})
