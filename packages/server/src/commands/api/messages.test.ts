import { createClient } from '@org/agent-messaging-client'
import { expect, it, onTestFinished, vi } from 'vitest'
import { foundBy } from './messages.js'

const AT = '2030-01-31T14:47:00.000Z'

/** Searches at a server that answers with the page. Returns its requests and what stderr got. */
async function searched(page: object, options: object) {
  const asked: string[] = []
  const client = createClient({
    baseUrl: 'http://127.0.0.1:9',
    apiKey: 'unused',
    fetch: async (input) => {
      asked.push(new URL(input instanceof Request ? input.url : input).search)
      return Response.json(page)
    },
  })
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => write.mockRestore())
  const place = { database: ':memory:' }
  await foundBy({ client, place, options: { limit: 20, ...options } })
  return { asked, said: write.mock.calls.map(([text]) => text) }
}

it('a search for a text is one page, and says how far it looked', async () => {
  const page = { data: [], nextCursor: 'c2', lookedBackTo: AT }
  const { asked, said } = await searched(page, { text: 'wanted', cursor: 'c1', limit: 300 })
  expect(asked).toEqual(['?text=wanted&cursor=c1&limit=100'])
  expect(said).toEqual([`Looked back to ${AT}. To look further, add: --cursor c2\n`])
})

it('a search that looked at all messages says nothing more', async () => {
  const { said } = await searched({ data: [], nextCursor: null }, { text: 'wanted' })
  expect(said).toEqual([])
})
