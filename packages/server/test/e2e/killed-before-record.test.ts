import { expect, it } from 'vitest'
import { realServer, until } from './real-server.js'
import { receiver } from './receiver.js'

it('a kill before a result is stored causes one duplicate request and loses nothing (G4)', async () => {
  const server = await realServer()
  let killed: Promise<unknown> | undefined
  // The receiver accepts the request, and the server dies before it gets the response.
  const hook = await receiver(() => {
    killed ??= server.kill('SIGKILL')
    return 200
  })
  try {
    const agent = {
      name: 'echo',
      runtime: { kind: 'function', handler: 'echo' },
      desiredState: 'running',
    }
    expect((await server.api('POST', '/v1/agents', agent)).status).toBe(201)
    await server.api('POST', '/v1/webhooks', { url: hook.url, events: ['message.responded'] })
    await server
      .api('POST', '/v1/agents/echo/messages', { sessionId: 's', message: 'hi' })
      .catch(() => undefined) // the server can die before it answers
    expect(await until(() => killed !== undefined)).toBe(true)
    await killed
    const before = hook.received.length
    await server.start()
    const delivered = async (): Promise<boolean> => {
      const { data } = (await (await server.api('GET', '/v1/deliveries')).json()) as {
        data: { status: string; attemptCount: number }[]
      }
      return data.length === 1 && data[0]?.status === 'delivered'
    }
    expect(await until(delivered)).toBe(true)
    const ids = hook.received.map(({ headers }) => headers['x-service-delivery'])
    expect(before).toBe(1)
    // The log follows up to 100 ms later.
    const takenOver = /"messages":0,"deliveries":1,"agents":0,"msg":"work\.taken_over"/
    expect(await until(() => takenOver.test(server.output()))).toBe(true)
    expect(ids).toHaveLength(2)
    expect(new Set(ids).size).toBe(1)
    expect(new Set(hook.received.map(({ body }) => body)).size).toBe(1)
  } finally {
    await server.dispose()
    await hook.close()
  }
})
