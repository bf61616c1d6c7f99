// The figures that `npm run bench -- --write` keeps, and the pages that show them.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { rows } from './rows/index.mjs'
import { COLUMNS, table } from './table.mjs'

const FILE = 'benchmarks/figures.json'
const TABLE = /(?<=<!-- figures -->\n)[\s\S]*(?=<!-- \/figures -->)/

/** The rows that a user asks about. */
const ASKED = {
  send: 'Answered messages, 50 callers, SQLite',
  'send-postgres': 'Answered messages, 50 callers, PostgreSQL',
  'publish-postgres': 'Published events with one webhook, 50 callers, PostgreSQL',
  'growth-send-postgres': 'Answered messages beside a million stored ones, PostgreSQL',
  'light-sqlite': 'Time and CPU of a send at 200 a second, SQLite',
  'light-postgres': 'Time and CPU of a send at 200 a second, PostgreSQL',
  'overload-postgres': 'Time of a send while another project floods the server, PostgreSQL',
  'deliver-postgres': 'Webhook deliveries of a backlog, PostgreSQL',
  'first-byte': 'Time from an answer to its webhook, SQLite',
  'idle-memory': 'Memory of an idle server, SQLite',
}
const ASKED_COLUMNS = {
  what: 'figure',
  row: 'row',
  ours: 'the service',
  floor: 'floor',
  ratio: 'ratio',
  rss: 'RSS MiB',
  measured: 'measured',
}

/** The tables by the pages that show them. */
const TABLES = {
  'docs/performance.md': (figures) => {
    const asked = Object.entries(ASKED).map(([row, what]) => ({ ...figures[row], row, what }))
    return table(asked, { columns: ASKED_COLUMNS, bare: true })
  },
  'benchmarks/README.md': (figures) => {
    const lines = Object.entries(figures).map(([row, figure]) => {
      const { must, aims } = rows[row]
      return { row, ...figure, must, aims }
    })
    return table(lines, { columns: { ...COLUMNS, measured: 'measured' }, bare: true })
  },
}

/** Keeps the lines of a run in the file, and writes the pages below `root` that show the file. */
export function publish(root, lines, measured) {
  const kept = lines.map(({ row, must: _, aims: __, ...figure }) => [row, { ...figure, measured }])
  const all = { ...readFigures(root), ...Object.fromEntries(kept) }
  const sorted = Object.keys(rows).flatMap((row) => (all[row] ? [[row, all[row]]] : []))
  const text = JSON.stringify(Object.fromEntries(sorted), undefined, 2)
  writeFileSync(path.join(root, FILE), `${text}\n`)
  for (const { file, shown } of pages(root)) writeFileSync(path.join(root, file), shown)
}

/** Returns each page below `root` as it is and with the table of the file. */
export function pages(root) {
  const figures = readFigures(root)
  return Object.entries(TABLES).map(([file, tableOf]) => {
    const text = readFileSync(path.join(root, file), 'utf8')
    return { file, text, shown: text.replace(TABLE, () => `\n${tableOf(figures)}\n\n`) }
  })
}

const readFigures = (root) => JSON.parse(readFileSync(path.join(root, FILE), 'utf8'))
