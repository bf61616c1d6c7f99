import { ReadableStream } from 'node:stream/web'
import { csvRecord } from '@org/agent-messaging-core/host'
import type { Hono, MiddlewareHandler } from 'hono'
import type { ConsoleDeps, Env, PageRequest } from './context.js'
import { idIn, projectIn } from './parts/input.js'
import type { Sheet } from './parts/sheet.js'

const MOST_ROWS = 100_000
/** A page can have few rows, or none, if a filter looks at many. */
const MOST_PAGES = 2_000
/** The list of an address, and its project on the operator's pages. */
const LIST = /^\/console\/(?:(projects)\/(?:([^/]+)\/)?)?([^/]+)/

/**
 * Answers `?format=csv` with all rows of the page's list. Each part is a request of its own to the
 * page, with the same checks. The browser takes a part before the next one is read.
 */
export const downloads =
  ({ service }: ConsoleDeps, pages: Hono<Env>): MiddlewareHandler<Env> =>
  async (c, next) => {
    if (c.req.query('format') !== 'csv' || c.req.method !== 'GET' || c.env.sheet) return next()
    const partAt = async (cursor?: string) => {
      const url = new URL(c.req.url)
      if (cursor !== undefined) url.searchParams.set('cursor', cursor)
      const sheet: Sheet = { titles: [], records: [], nextCursor: null }
      const { headers, signal } = c.req.raw
      const answer = await pages.fetch(new Request(url, { headers, signal }), { sheet })
      return { answer, sheet }
    }
    const { answer, sheet } = await partAt()
    if (sheet.titles.length === 0) return answer
    const download = downloadOf(c)
    await service.host.recordDownload(download)
    const day = new Date(c.get('now')()).toISOString().slice(0, 10)
    const more = async (cursor: string) => (await partAt(cursor)).sheet
    const bytes = ReadableStream.from(bytesOf(sheet, more))
    return c.body(bytes as globalThis.ReadableStream, 200, {
      'Content-Type': 'text/csv; charset=utf-8',
      'Content-Disposition': `attachment; filename="${download.list}-${day}.csv"`,
    })
  }

function downloadOf(c: PageRequest) {
  const [, projects, id, list = ''] = LIST.exec(c.req.path) ?? []
  return projects === undefined && list !== 'projects'
    ? { list, projectId: projectIn(c), actor: c.get('actor') }
    : { list, projectId: idIn(id), actor: { kind: 'operator' } as const }
}

/** Yields the file, part by part. Its first character tells spreadsheets that it is UTF-8. */
export async function* bytesOf(
  first: Sheet,
  more: (cursor: string) => Promise<Sheet>,
  most = MOST_ROWS,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const encoder = new TextEncoder()
  let rows = 0
  let text = `\ufeff${csvRecord(first.titles)}`
  for (let part = first, parts = 1; ; parts++) {
    const records = part.records.slice(0, most - rows)
    rows += records.length
    const isCut = records.length < part.records.length
    const { nextCursor } = part
    text += records.join('')
    if (isCut || (nextCursor !== null && (rows === most || parts === MOST_PAGES))) {
      const end = `The file ends after ${rows.toLocaleString('en')} rows. Filter the list to get the others.`
      text += csvRecord([end, ...first.titles.slice(1).map(() => '')])
      return yield encoder.encode(text)
    }
    yield encoder.encode(text)
    if (nextCursor === null) return
    text = ''
    part = await more(nextCursor)
    if (part.titles.length === 0) throw new Error('The next rows of a download cannot be read')
  }
}
