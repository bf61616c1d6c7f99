import { hc, type InferRequestType, type InferResponseType } from 'hono/client'
import { expect, expectTypeOf, it } from 'vitest'
import { openScene } from '../test/scene.js'
import type { HttpApp } from './index.js'

it('Hono’s typed client knows the routes, their inputs and their answers', async () => {
  const { app, key, createAgent } = await openScene()
  await createAgent({ name: 'echo' })
  const headers = { Authorization: `Bearer ${key}` }
  const client = hc<HttpApp>('http://localhost', {
    headers,
    fetch: (url: string | URL | Request, init?: RequestInit) =>
      app.request(url instanceof URL ? url.href : url, init),
  })

  const agent = client.v1.agents[':id']
  const got = await agent.$get({ param: { id: 'echo' } })
  expect(got.status).toBe(200)
  const body = await got.json()
  if ('error' in body) throw new Error(body.error.message)
  expectTypeOf(body.desiredState).toEqualTypeOf<'running' | 'stopped'>()
  expect(body.name).toBe('echo')

  const sent = await agent.messages.$post({
    param: { id: 'echo' },
    json: { sessionId: 's', message: 'Hello' },
  })
  expect(await sent.json()).toMatchObject({ status: 'responded', response: 'Hello' })

  const listed = await client.v1.deliveries.$get({ query: { limit: '1', status: 'pending' } })
  expect(await listed.json()).toEqual({ data: [], nextCursor: null })

  type Send = InferRequestType<typeof agent.messages.$post>
  expectTypeOf<Send['json']['message']>().toEqualTypeOf<string>()
  expectTypeOf<InferResponseType<typeof client.healthz.$get, 200>>().toEqualTypeOf<{
    status: string
  }>()
  // @ts-expect-error a message is required
  void (() => agent.messages.$post({ param: { id: 'echo' }, json: { sessionId: 's' } }))
  // @ts-expect-error there is no such route
  void (() => client.v1.nothing)
})
