import { expect, it, vi } from 'vitest'
import { MOST_STEP_WORK, TextScan } from './text-scan.js'

/** Runs the scan. Returns its result and the bytes × length of each step. */
function scanned(wanted: string, rows: readonly (readonly string[])[]) {
  const length = Buffer.byteLength(wanted)
  const works = [0]
  const test = vi.spyOn(RegExp.prototype, 'test')
  test.mockImplementation(function (this: RegExp, piece) {
    if (this.source.length > 1)
      works[works.length - 1] = (works.at(-1) ?? 0) + piece.length * length
    return this.exec(piece) !== null
  })
  const scan = new TextScan(wanted)
  const found: boolean[] = []
  for (const texts of rows) {
    const steps = scan.isIn(texts.map((text) => Buffer.from(text)))
    let step = steps.next()
    for (; !step.done; step = steps.next()) works.push(0)
    found.push(step.value)
  }
  test.mockRestore()
  return { found, works }
}

const LONGEST = `${'a'.repeat(50)}b${'a'.repeat(49)}`

it.each([
  ['long texts', LONGEST, Array.from({ length: 10 }, () => ['a'.repeat(60_000)])],
  ['a very long text', LONGEST, [['a'.repeat(1_000_000), 'a'.repeat(1_000_000)]]],
  ['many short texts', LONGEST, Array.from({ length: 3_000 }, () => ['a'.repeat(200), 'a'])],
  ['characters of four bytes', '😀'.repeat(100), [['😀'.repeat(50_000)], ['😀'.repeat(99)]]],
  ['a short wanted text', 'é', [['e'.repeat(3_000_000)]]],
])('a step over %s does no more work than the limit', (_, wanted, rows) => {
  const { works } = scanned(wanted, rows)
  expect(Math.max(...works)).toBeLessThanOrEqual(MOST_STEP_WORK)
  const bytes = rows.flat().reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (wanted === LONGEST)
    expect(works.reduce((sum, work) => sum + work)).toBeGreaterThanOrEqual(bytes * wanted.length)
})

it('a step reads a bounded number of rows', () => {
  const { works } = scanned(
    'wanted',
    Array.from({ length: 2_001 }, () => ['']),
  )
  expect(works).toHaveLength(5)
})

it.each(['Größe €😀 Z'.padEnd(100, 'x'), '€'.repeat(100)])(
  'finds %s wherever a piece ends, and in either case of ASCII letters',
  (wanted) => {
    const piece = Math.floor(MOST_STEP_WORK / Buffer.byteLength(wanted))
    const at = Array.from({ length: 450 }, (_, place) => piece - 440 + place)
    const rows = at.map((place) => [
      '.'.repeat(place) + wanted.replaceAll(/[a-z]/gi, swapped) + '.',
    ])
    expect(scanned(wanted, rows).found).toEqual(at.map(() => true))
  },
)

it.each([
  ['©', 'é'],
  ['É', 'é'],
  ['K', '\u212A'], // the sign of Kelvin
  ['a.c', 'abc'],
  ['[', '{'],
])('does not find %s in %s', (wanted, text) => {
  expect(scanned(wanted, [[text.repeat(30_000)]]).found).toEqual([false])
})

const swapped = (letter: string): string =>
  letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
