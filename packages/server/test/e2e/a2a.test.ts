import { expect, it } from 'vitest'
import { API_KEY, realServer, until, type RealServer } from './real-server.js'

const AGENTS = `export default {
  worker: ({ message }) => 'answer to ' + message,
  payer: async ({ message, ask }) => 'paid ' + message + ': ' + (await ask('Pay ' + message + '?')),
}`

const publish = (server: RealServer, name: string) =>
  server.api('POST', '/v1/agents', {
    name,
    runtime: { kind: 'function', handler: name },
    a2a: { enabled: true },
  })

it('two servers talk to each other over A2A, with answers and questions', async () => {
  const far = await realServer({ agents: AGENTS, env: { SERVICE_ENDPOINTS: 'a2a' } })
  const near = await realServer()
  try {
    type Shown = {
      readonly messageId: string
      readonly response?: string
      readonly input?: { readonly id: string; readonly question: string }
    }
    const send = async (agent: string, message: string) => {
      const path = `/v1/agents/${agent}/messages`
      const sent = await near.api('POST', path, { sessionId: 's', message })
      return (await sent.json()) as Shown
    }
    for (const name of ['worker', 'payer']) {
      await publish(far, name)
      const headers = { authorization: `Bearer ${API_KEY}` }
      const runtime = { kind: 'a2a', url: `${far.url}/a2a/${name}/`, headers }
      const created = await near.api('POST', '/v1/agents', { name, runtime })
      expect(created.status).toBe(201)
    }
    expect(await send('worker', 'Hello')).toMatchObject({ response: 'answer to Hello' })

    const { messageId } = await send('payer', 'rent')
    const path = `/v1/agents/payer/messages/${messageId}`
    const read = async () => (await (await near.api('GET', path)).json()) as Shown
    const { input } = await read()
    expect(input?.question).toBe('Pay rent?')
    await near.api('POST', `${path}/input`, { inputId: input?.id, value: 'yes' })
    expect(await until(async () => (await read()).response !== undefined)).toBe(true)
    expect((await read()).response).toBe('paid rent: yes')
  } finally {
    await near.dispose()
    await far.dispose()
  }
})
