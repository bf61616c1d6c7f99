import { okAsync } from 'neverthrow'
import { expect, it } from 'vitest'
import { ofPage, type PageInput } from './page-rules.js'

const CURSOR = '01a21f7b-e6f0-7651-b901-b0e529be0d64'
const list = (page: unknown) => ofPage(page as PageInput, (checked) => okAsync(checked))

it.each([
  [{ limit: 1 }, { limit: 1 }],
  [
    { limit: 100, cursor: CURSOR },
    { limit: 100, cursor: CURSOR },
  ],
  [{}, { limit: 50 }],
  [{ limit: undefined, cursor: undefined }, { limit: 50 }],
])('lists the page %o', async (page, checked) => {
  expect((await list(page))._unsafeUnwrap()).toEqual(checked)
})

it.each<[unknown, string, string]>([
  [{ limit: 0 }, 'limit', 'must be a whole number above 0'],
  [{ limit: 2 ** 31 }, 'limit', 'must be a whole number above 0'],
  [{ limit: '5' }, 'limit', 'must be a whole number above 0'],
  [{ limit: null }, 'limit', 'must be a whole number above 0'],
  [{ limit: 1, cursor: 'x' }, 'cursor', 'must be the nextCursor of the page before'],
  [{ limit: 1, cursor: null }, 'cursor', 'must be the nextCursor of the page before'],
])('refuses the page %o', async (page, path, message) => {
  expect((await list(page))._unsafeUnwrapErr()).toEqual({
    kind: 'invalid',
    issues: [{ path, message }],
  })
})
