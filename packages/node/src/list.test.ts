import { expect, it } from 'vitest'
import { listOf } from './list.js'

/** A list of the numbers 0 to 4 in pages of two. */
function numbers() {
  const reads: (string | undefined)[] = []
  const list = listOf(async (cursor?: string) => {
    reads.push(cursor)
    const from = Number(cursor ?? 0)
    const data = [0, 1, 2, 3, 4].slice(from, from + 2)
    return { data, nextCursor: from + 2 < 5 ? String(from + 2) : null }
  })
  return { list, reads }
}

it('reads nothing before it is awaited, and then one page', async () => {
  const { list, reads } = numbers()
  await Promise.resolve()
  expect(reads).toEqual([])
  expect(await list).toEqual({ data: [0, 1], nextCursor: '2' })
  expect(await list.finally(() => undefined)).toEqual(await list)
  expect(reads).toEqual([undefined])
})

it('reads a page when an iterator needs it', async () => {
  const { list, reads } = numbers()
  const rows: number[] = []
  for await (const row of list) {
    rows.push(row)
    if (row === 2) expect(reads).toEqual([undefined, '2'])
  }
  expect(rows).toEqual([0, 1, 2, 3, 4])
  expect(reads).toEqual([undefined, '2', '4'])
})

it('rejects only a reader', async () => {
  const list = listOf(() => Promise.reject(new Error('away')))
  expect(await list.catch(String)).toBe('Error: away')
  await expect(list).rejects.toThrow('away')
})
