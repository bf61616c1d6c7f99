import type { Http } from './http.js'

export type Page<Row> = {
  readonly data: readonly Row[]
  readonly nextCursor: string | null
  /** ISO 8601. The time of the oldest message that a search looked at, unless it looked at all. */
  readonly lookedBackTo?: string
}
/** A page has 50 rows by default, and at most 100. `cursor` is the `nextCursor` of the page before. */
export type PageInput = { readonly limit?: number; readonly cursor?: string }
/** A page, which is read when it is awaited. As an iterator, it reads all rows, page by page. */
export type List<Row> = Promise<Page<Row>> & AsyncIterable<Row>

/** Lists rows in the service's order. Requests a page when it is needed. */
export function listOf<Row>(http: Http, path: string, query: PageInput = {}): List<Row> {
  // The caller can change its object before the list is read.
  const asked = { ...query }
  const read = (cursor?: string): Promise<Page<Row>> =>
    http.get(path, cursor === undefined ? asked : { ...asked, cursor })
  let first: Promise<Page<Row>> | undefined
  const page = () => (first ??= read())
  return {
    // oxlint-disable-next-line unicorn/no-thenable -- a promise that reads nothing before it is awaited
    then: (...handlers) => page().then(...handlers),
    catch: (handler) => page().catch(handler),
    finally: (handler) => page().finally(handler),
    [Symbol.toStringTag]: 'List',
    async *[Symbol.asyncIterator]() {
      for (
        let { data, nextCursor } = await page();
        ;
        { data, nextCursor } = await read(nextCursor)
      ) {
        yield* data
        if (nextCursor === null) return
      }
    },
  }
}
