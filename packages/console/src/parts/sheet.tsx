import type { Page } from '@org/agent-messaging-core'
import { csvRecord } from '@org/agent-messaging-core/host'
import { toIso } from '@org/agent-messaging-core/storage'
import type { Child } from 'hono/jsx'
import type { PageRequest } from '../context.js'
import type { Column, Columns } from './table.js'
import { ViewContext, viewOf } from './zone.js'

/** A page of a list as records of a CSV file. */
export type Sheet = {
  titles: readonly string[]
  readonly records: string[]
  nextCursor: string | null
}

type ListOf<Row> = { readonly page: Page<Row>; readonly columns: Columns<Row> }

/** Answers with nothing, and fills the sheet with the columns that have a text. */
export async function fillSheet<Row>(c: PageRequest, sheet: Sheet, { page, columns }: ListOf<Row>) {
  const view = viewOf(c)
  const textOf = async (content: Child) => {
    const shown: { toString(): unknown } = (
      <ViewContext.Provider value={view}>{content}</ViewContext.Provider>
    )
    return plainText(String(await shown.toString()))
  }
  const kept = Object.entries(columns).flatMap(([title, column]) =>
    column && !('class' in column && column.class === 'actions') ? [{ title, column }] : [],
  )
  sheet.titles = kept.map(({ title }) => title)
  sheet.nextCursor = page.nextCursor
  for (const row of page.data) {
    const cells: (string | number)[] = []
    for (const { column } of kept) {
      const content = contentOf(column, row)
      cells.push(typeof content === 'object' ? await textOf(content) : emptied(content))
    }
    sheet.records.push(csvRecord(cells))
  }
  return c.body(null)
}

function contentOf<Row>(column: Column<Row>, row: Row): Child {
  if (typeof column === 'function') return column(row)
  if ('at' in column) {
    const at = column.at(row)
    return at === undefined ? '' : toIso(at)
  }
  return (column.csv ?? column.cell)(row)
}

/** Replaces what stands for nothing on a page. */
const emptied = (content: string | number | boolean | undefined) =>
  content === '–' || typeof content === 'boolean' ? '' : (content ?? '')

const CHARACTERS: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
}

/** Returns the text of HTML that escapes its attributes. A time or an id is whole. */
function plainText(html: string) {
  const text = html
    .replaceAll(/<(button|form|svg)\b.*?<\/\1>/gs, '')
    .replaceAll(/<(time|data) (?:datetime|value)="([^"]*)".*?<\/\1>/gs, '$2')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ (?=[,.;:)])|(?<=\() /g, '')
    .trim()
    .replaceAll(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => CHARACTERS[name] ?? '')
  return text === '–' ? '' : text
}
