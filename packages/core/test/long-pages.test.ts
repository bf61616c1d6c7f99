import { success } from '@org/agent-messaging-core/runtime'
import { expect, it, vi } from 'vitest'
import { scene } from './scene.js'

const LONGEST = 1024 * 1024

async function answered(lengths: readonly number[]) {
  const made = await scene({
    handler: ({ message }) => ({ kind: 'answered', response: 'x'.repeat(Number(message)) }),
  })
  const ids: string[] = []
  for (const length of lengths) {
    const sent = made.send(String(length))
    await made.clock.advance(1)
    ids.push((await sent).message.id)
  }
  const list = async (limit: number, cursor?: string) =>
    await made.service.messages.list({
      ...made.ref,
      order: 'asc',
      limit,
      ...(cursor !== undefined && { cursor }),
    })
  /** How many messages each page has, up to the last. */
  async function pages(limit: number): Promise<number[]> {
    const found: string[][] = []
    for (let cursor: string | null | undefined; cursor !== null;) {
      const { data, nextCursor } = await list(limit, cursor)
      found.push(data.map(({ id }) => id))
      cursor = nextCursor
    }
    expect(found.flat()).toEqual(ids)
    return found.map(({ length }) => length)
  }
  return pages
}

it('a page of very long answers ends early, and the next page continues after it', async () => {
  const pages = await answered(Array.from({ length: 5 }, () => LONGEST))
  expect(await pages(100)).toEqual([2, 2, 1])
  expect(await pages(2)).toEqual([2, 2, 1])
  expect(await pages(1)).toEqual([1, 1, 1, 1, 1])
})

it('a page that is full with the last message is the last page', async () => {
  expect(await (await answered([1, LONGEST, LONGEST]))(100)).toEqual([3])
})

it('a page of short answers has as many rows as requested', async () => {
  const pages = await answered(Array.from({ length: 45 }, (_, i) => i))
  expect(await pages(100)).toEqual([45])
  expect(await pages(45)).toEqual([45])
  expect(await pages(41)).toEqual([41, 4])
})

it('a search ends with the part that read as much as one page can', async () => {
  const { service, storage, ref } = await scene()
  const nextCursor = '01a20782-5952-72eb-af3c-b6eec6425110'
  const search = vi
    .spyOn(storage.messages, 'search')
    .mockReturnValue(Promise.resolve(success({ data: [], nextCursor })))
  const found = await service.messages.search({ ...ref, text: 'rare', limit: 25 })
  expect(found).toEqual({ data: [], nextCursor })
  expect(search).toHaveBeenCalledTimes(1)
})
