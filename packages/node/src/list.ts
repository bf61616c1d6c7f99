import type { ShownPage } from '@org/agent-messaging-core/host'

/** A page, which is read when it is awaited. As an iterator, it reads all rows, page by page. */
export type List<Row> = Promise<ShownPage<Row>> & AsyncIterable<Row>

/** `read` gets the cursor of a further page. */
export function listOf<Row>(read: (cursor?: string) => Promise<ShownPage<Row>>): List<Row> {
  let first: Promise<ShownPage<Row>> | undefined
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
