import { expect, it } from 'vitest'
import { mergePages } from './delivery-table.js'

const rows = (...ids: string[]) => ids.map((id) => ({ id }))

it.each([
  { pages: [], limit: 2, data: [], nextCursor: null },
  {
    pages: [
      { data: rows('5', '1'), nextCursor: null },
      { data: rows('4'), nextCursor: null },
    ],
    limit: 3,
    data: ['5', '4', '1'],
    nextCursor: null,
  },
  {
    pages: [
      { data: rows('5', '1'), nextCursor: null },
      { data: rows('4', '3'), nextCursor: '3' },
    ],
    limit: 2,
    data: ['5', '4'],
    nextCursor: '4',
  },
  {
    pages: [
      { data: rows('1'), nextCursor: null },
      { data: [], nextCursor: '3' },
    ],
    limit: 2,
    data: [],
    nextCursor: '3',
  },
])('merges $pages to $data', ({ pages, limit, data, nextCursor }) => {
  expect(mergePages(pages, limit)).toEqual({ data: rows(...data), nextCursor })
})
