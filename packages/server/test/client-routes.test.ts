import { createClient } from '@org/agent-messaging-client'
import { createServer } from '../src/index.js'
import { expect, it } from 'vitest'

type Document = { readonly paths: Readonly<Record<string, object>> }

async function documentOfAServer(): Promise<Document> {
  const server = await createServer({
    port: 0,
    databasePath: ':memory:',
    masterKey: new Uint8Array(32),
    worker: false,
  })
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as Document
  await server.stop()
  return document
}

it('the client has a method for every route of a project, except the callback of agents', async () => {
  const document = await documentOfAServer()
  const requested = new Set<string>()
  const fetch = async (url: unknown, { method = '' }: RequestInit = {}): Promise<Response> => {
    const { pathname } = new URL(String(url))
    requested.add(`${method} ${pathname}`)
    if (pathname.endsWith('/stream')) return new Response(null, { status: 204 })
    if (pathname === '/v1/events')
      return Response.json({ data: [{ cursor: '1', event: {} }], nextCursor: '1' })
    return Response.json({ data: [], nextCursor: null, messageId: '-', state: 'responded' })
  }
  const client = createClient({
    baseUrl: 'https://messages.example',
    apiKey: 'k',
    fetch,
    retries: 0,
  })
  type Call = (...ids: string[]) => unknown
  const callsIn = (group: object): Call[] =>
    Object.values(group as Record<string, object | Call>).flatMap((one) =>
      typeof one === 'function' ? (one as Call) : callsIn(one),
    )
  for (const call of callsIn(client)) {
    const given = call('-', '-') as Promise<unknown> | AsyncGenerator
    await ('then' in given ? given : given.next())
  }
  const routes = Object.entries(document.paths)
    .filter(([path]) => path.startsWith('/v1/') && !path.endsWith('/response'))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '-')}`,
      ),
    )
  expect([...requested].sort()).toEqual(routes.sort())
})
