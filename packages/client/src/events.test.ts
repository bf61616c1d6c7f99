import { expect, it } from 'vitest'
import { ApiError } from './api-error.js'
import { createClient } from './client.js'

const event = (id: string) => ({
  cursor: id,
  event: { event: 'webhook.test', id, createdAt: '2030-01-01T00:00:00.000Z', data: {} },
})

/** A client whose service gives these answers, and the queries that it got. */
function scene(...answers: readonly (object | number)[]) {
  const queries: string[] = []
  const left = [...answers]
  const fetch: typeof globalThis.fetch = async (url) => {
    queries.push(new URL(url as string).search)
    const answer = left.shift() ?? 500
    return typeof answer === 'number'
      ? Response.json({ error: { code: 'GONE', message: 'gone' } }, { status: answer })
      : Response.json(answer)
  }
  const options = { baseUrl: 'http://service.test', apiKey: 'amk_key', fetch, retries: 0 }
  return { client: createClient(options), queries }
}

it('follows the log from a cursor, over empty pages, and throws when the cursor has expired', async () => {
  const { client, queries } = scene(
    { data: [event('6'), event('7')], nextCursor: '7' },
    { data: [], nextCursor: '7' },
    { data: [event('9')], nextCursor: '9' },
    410,
  )
  const seen: string[] = []
  const following = (async () => {
    for await (const { cursor } of client.events.follow({ after: '5', parts: true }))
      seen.push(cursor)
  })()
  await expect(following).rejects.toMatchObject({ status: 410 })
  await expect(following).rejects.toBeInstanceOf(ApiError)
  expect(seen).toEqual(['6', '7', '9'])
  expect(queries).toEqual(
    ['5', '7', '7', '9'].map((after) => `?after=${after}&limit=100&wait=30&parts=true`),
  )
})

it('reads one page', async () => {
  const page = { data: [event('1')], nextCursor: '1' }
  const { client, queries } = scene(page)
  expect(await client.events.read({ limit: 1 })).toEqual(page)
  expect(queries).toEqual(['?limit=1'])
})
