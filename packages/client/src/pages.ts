import type { Http } from './http.js'

type Page<T> = { readonly data: readonly T[]; readonly nextCursor: string | null }

const PAGE_SIZE = 100

/** Yields every row of a list in the service's order. Requests the next page when it is needed. */
export async function* rowsOf<T>(
  http: Http,
  path: string,
  query: object = {},
): AsyncGenerator<T, void, undefined> {
  for (let cursor: string | undefined; ;) {
    const page: Page<T> = await http.json({
      method: 'GET',
      path,
      query: { limit: PAGE_SIZE, ...query, cursor },
    })
    yield* page.data
    if (page.nextCursor === null) return
    cursor = page.nextCursor
  }
}
