import { okAsync } from 'neverthrow'
import { expect, it } from 'vitest'
import { ofPage } from './page-rules.js'

const CURSOR = '01a21f7b-e6f0-7651-b901-b0e529be0d64'
const list = (page: unknown) => ofPage(page as object, (checked) => okAsync(checked))

it.each([{ limit: 1 }, { limit: 100, cursor: CURSOR }])('lists the page %o', async (page) => {
  expect((await list(page))._unsafeUnwrap()).toBe(page)
})

it.each<[unknown, string, string]>([
  [undefined, 'page', 'is required'],
  [{}, 'page.limit', 'must be a whole number above 0'],
  [{ limit: 0 }, 'page.limit', 'must be a whole number above 0'],
  [{ limit: '5' }, 'page.limit', 'must be a whole number above 0'],
  [{ limit: 1, cursor: 'x' }, 'page.cursor', 'must be the nextCursor of the page before'],
  [{ limit: 1, cursor: null }, 'page.cursor', 'must be the nextCursor of the page before'],
])('refuses the page %o', async (page, path, message) => {
  expect((await list(page))._unsafeUnwrapErr()).toEqual({
    kind: 'invalid',
    issues: [{ path, message }],
  })
})
