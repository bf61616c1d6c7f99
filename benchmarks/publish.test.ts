import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { pages, publish } from './publish.mjs'
import { rows } from './rows/index.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const FIGURES = 'benchmarks/figures.json'
const LINE = {
  row: 'send',
  what: 'send with tiny sizes',
  ours: '7/s',
  floor: 'equal promise: 14/s',
  limit: '',
  peers: '',
  ratio: '0.50',
  must: '0.60',
  aims: '0.80',
  cpu: '9',
  latency: '1 / 2',
  rss: '3',
}

it('the pages show the figures of the file', () => {
  for (const { file, text, shown } of pages(root)) expect(shown, file).toBe(text)
})

it('the page for users shows ten rows, which are measured', () => {
  const { shown } = pages(root).find(({ file }) => file === 'docs/performance.md') ?? { shown: '' }
  const [, table = ''] = /<!-- figures -->([\s\S]*)<!-- \/figures -->/.exec(shown) ?? []
  const [, , ...lines] = table.trim().split('\n')
  expect(lines).toHaveLength(10)
  for (const line of lines) expect(line).toMatch(/^\| [A-Z].* \| \d.* \| 20\d\d-\d\d-\d\d, .* \|$/)
})

it('a run replaces its rows in the file and in the pages', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'figures-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const before = pages(root)
  for (const file of [FIGURES, ...before.map(({ file }) => file)])
    cpSync(path.join(root, file), path.join(folder, file))
  publish(folder, [LINE], '2026-01-01, a machine')
  const read = (file: string) => JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as object
  const { row: send, must: _, aims: __, ...figure } = LINE
  expect(read(FIGURES)).toEqual({
    ...(JSON.parse(readFileSync(path.join(root, FIGURES), 'utf8')) as object),
    [send]: { ...figure, measured: '2026-01-01, a machine' },
  })
  expect(Object.keys(read(FIGURES))).toEqual(
    Object.keys(rows).filter((row) => row in read(FIGURES)),
  )
  for (const { file, text } of pages(folder)) {
    expect(text).toContain('7/s | equal promise: 14/s')
    expect(text).not.toBe(before.find((page) => page.file === file)?.text)
  }
})
