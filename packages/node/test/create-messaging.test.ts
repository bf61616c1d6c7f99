import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { JsonObject } from '@org/agent-messaging-core'
import type { Fact } from '@org/agent-messaging-core/runtime'
import { fakeClock, type FakeClock } from '@org/agent-messaging-testing'
import {
  createMessaging,
  MessagingError,
  type Messaging,
  type MessagingOptions,
} from '@org/agent-messaging-node'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { testPostgres, type TestPostgres } from '../../adapter-postgres/test/test-postgres.js'

const shout = ({ message }: { readonly message: string }): string => `${message.toUpperCase()}!`
const PATIENCE = { timeout: 60_000 }
const hello = { agent: 'shouter', sessionId: 'c', message: 'hello' }

function directory(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'messaging-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

async function open(options: Partial<MessagingOptions> = {}) {
  const messaging = await createMessaging({
    database: ':memory:',
    agents: { shouter: shout },
    ...options,
  })
  onTestFinished(async () => {
    for (const end of ends.splice(0)) end()
    await messaging.stop()
  })
  return messaging
}

/** The ends of held runs, for which a stop would wait. */
const ends: (() => void)[] = []
/** An agent that answers at the end of the test. */
const held = () => new Promise<string>((resolve) => ends.push(() => resolve('late')))

const answerOf = async (messaging: Awaited<ReturnType<typeof open>>) =>
  messaging.messages.send(hello)

/** Moves the clock until the promise settles, with real turns for the database in between. */
async function settled<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  let isSettled = false
  void promise.finally(() => (isSettled = true))
  await clock.until(() => new Promise((resolve) => setImmediate(() => resolve(isSettled))))
  return promise
}

/** For calls that are refused. */
let shared: Messaging
beforeAll(async () => {
  shared = await createMessaging({ database: ':memory:', agents: { shouter: shout } })
})
afterAll(() => shared.stop())

describe('createMessaging', () => {
  it('starts an agent per function and answers a message', async () => {
    expect(await answerOf(await open())).toMatchObject({ status: 'responded', response: 'HELLO!' })
  })

  it('throws a MessagingError for a refused call', async () => {
    const messaging = await open()
    const sending = messaging.messages.send({ ...hello, agent: 'nobody' })
    await expect(sending).rejects.toBeInstanceOf(MessagingError)
    await expect(sending).rejects.toMatchObject({ kind: 'agent_not_found' })
  })

  it.each<[string, (messaging: Record<string, Record<string, () => unknown>>) => unknown]>([
    ['agents', ({ agents }) => agents?.['list']?.()],
    ['webhooks', ({ webhooks }) => webhooks?.['list']?.()],
    ['deliveries', ({ deliveries }) => deliveries?.['list']?.()],
    ['keys', ({ keys }) => keys?.['list']?.()],
    ['recoveries', ({ recoveries }) => recoveries?.['list']?.()],
    ['audit log entries', ({ auditLog }) => auditLog?.['list']?.()],
    ['found messages', ({ messages }) => messages?.['search']?.()],
    ['inputs', ({ inputs }) => inputs?.['list']?.()],
  ])('lists %s without an input', async (_, list) => {
    const listing = list((await open()) as never)
    await expect(listing).resolves.toMatchObject({ nextCursor: null })
  })

  it('says in each call after its stop that it has stopped', async () => {
    const messaging = await open()
    const { messageId } = await messaging.messages.send(hello)
    await messaging.stop()
    const { agents, messages, webhooks } = messaging
    const calls = [
      messages.send(hello),
      messages.get({ agent: 'shouter', messageId }),
      messages.stream({ agent: 'shouter', messageId }),
      agents.list({ limit: 1 }),
      webhooks.create({ url: 'https://receiver.example/', events: ['*'] }),
    ]
    for (const call of calls) {
      await expect(call).rejects.toMatchObject({ kind: 'stopped' })
      await expect(call).rejects.toThrow('The service has stopped. Create a new one.')
    }
  })

  it('uses one project, default, in every call', async () => {
    const messaging = await open()
    const agents = await messaging.agents.list({ limit: 10 })
    expect(agents.data.map(({ name }) => name)).toEqual(['shouter'])
    const inService = await messaging.service.agents.list({ projectId: messaging.projectId })
    expect(inService.data.map(({ id }) => id)).toEqual(agents.data.map(({ id }) => id))
    const projects = await messaging.service.projects.list({ limit: 10 })
    expect(projects.data.map(({ name }) => name)).toEqual(['default'])
    const page = await messaging.webhooks.list({ limit: 10 })
    expect(page.data).toEqual([])
  })

  it('asks an agent, and returns its text', async () => {
    const messaging = await open()
    expect(await messaging.ask('shouter', 'hello')).toBe('HELLO!')
    const { data } = await messaging.messages.list({ agent: 'shouter' })
    expect(data).toMatchObject([{ state: 'responded', response: 'HELLO!' }])
    expect(data[0]?.sessionId).toMatch(/^ask-/)
  })

  it('takes a part of a part of the policy', async () => {
    const { service } = await open({ policy: { deliver: { maxInFlight: 5 } } })
    expect(service.policy.deliver).toMatchObject({ maxInFlight: 5, deadlineMs: 15_000 })
  })

  it('asks once for one idempotency key', async () => {
    const messaging = await open()
    const options = { idempotencyKey: 'k' }
    const answers = [messaging.ask('shouter', 'a', options), messaging.ask('shouter', 'a', options)]
    expect(await Promise.all(answers)).toEqual(['A!', 'A!'])
    expect((await messaging.messages.list({ agent: 'shouter' })).data).toHaveLength(1)
  })

  it('says why an agent has not answered', async () => {
    const messaging = await open({
      agents: {
        failing: () => Promise.reject(new Error('no')),
        slow: held,
        asking: async ({ ask }) => ask('Which colour?'),
      },
    })
    await messaging.agents.update({ agent: 'failing', change: { maxAttempts: 1 } })
    const messageId = expect.any(String)
    const failing = messaging.ask('failing', 'a')
    await expect(failing).rejects.toMatchObject({ kind: 'message_failed', messageId })
    const slow = messaging.ask('slow', 'a', { timeoutMs: 10 })
    await expect(slow).rejects.toMatchObject({ kind: 'no_answer_yet', messageId })
    const asking = messaging.ask('asking', 'a')
    await expect(asking).rejects.toMatchObject({
      kind: 'input_required',
      messageId,
      details: { input: { question: 'Which colour?' } },
    })
    const page = await messaging.messages.list({ agent: 'slow' })
    const ref = { agent: 'slow', messageId: page.data[0]?.messageId ?? '' }
    const cancelled = messaging.ask('slow', 'the second')
    await expect
      .poll(() => messaging.messages.search({ text: 'the second' }))
      .toMatchObject({
        data: [{ message: 'the second' }],
      })
    await messaging.messages.cancel(ref)
    const [second] = (await messaging.messages.search({ text: 'the second' })).data
    await messaging.messages.cancel({ agent: 'slow', messageId: second?.messageId ?? '' })
    await expect(cancelled).rejects.toMatchObject({ kind: 'message_cancelled', messageId })
  })

  it('waits for an answer although the policy lets no send wait', async () => {
    const answer = Promise.withResolvers<string>()
    const messaging = await open({
      agents: { slow: () => answer.promise },
      policy: { syncWaitMs: 0 },
    })
    const asked = messaging.ask('slow', 'a')
    await expect
      .poll(async () => (await messaging.messages.list({ agent: 'slow' })).data[0]?.state)
      .toBe('running')
    answer.resolve('late')
    expect(await asked).toBe('late')
  })

  it('ends the wait of a caller that aborts', async () => {
    const messaging = await open({ agents: { slow: held } })
    const asked = messaging.ask('slow', 'a', { signal: AbortSignal.timeout(10) })
    await expect(asked).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  it('reads all rows of a list page by page, or one page', async () => {
    const messaging = await open()
    for (const message of ['a', 'b', 'c']) await messaging.messages.send({ ...hello, message })
    const list = messaging.messages.list({ agent: 'shouter', limit: 2, order: 'asc' })
    expect((await list).data).toHaveLength(2)
    const texts: string[] = []
    for await (const { message } of list) texts.push(message)
    expect(texts).toEqual(['a', 'b', 'c'])
  })

  type Refused = [string, (messaging: Messaging) => unknown, string]
  it.each<Refused>([
    [
      'a call',
      ({ messages }) => messages.send({ ...hello, sesionId: 'c' } as typeof hello),
      'input has unknown fields: sesionId (did you mean sessionId?). Known fields: agent, ',
    ],
    [
      'a list',
      ({ messages }) => messages.list({ agent: 'shouter', stat: 'failed' } as { agent: string }),
      'input has unknown fields: stat (did you mean state?). ',
    ],
    [
      'a change',
      ({ agents }) => agents.update({ agent: 'shouter', change: { maxQueue: 1 } as object }),
      'change has unknown fields: maxQueue (did you mean maxQueued?). ',
    ],
    [
      'a recovery',
      ({ recoveries }) => recoveries.start({ filter: { createdAfter: 'yesterday' } }),
      'filter.createdAfter must be an ISO 8601 instant with a time zone, such as ',
    ],
    [
      'the usage',
      ({ usage }) => usage.get({ from: '2026-02-30' }),
      'from must be a date such as 2030-01-31',
    ],
    ...[undefined, {}, new pg.Pool()].map((transaction): Refused => [
      'a transaction',
      ({ messages }) => messages.enqueue({ ...hello, transaction } as never),
      'transaction must be a client of pg with an open transaction',
    ]),
    ['a text', ({ webhooks }) => webhooks.get('id' as never), 'input must be an object'],
    ['nothing', ({ messages }) => (messages.send as () => unknown)(), 'is required'],
  ])('refuses a wrong input of %s as invalid', async (_, call, message) => {
    const refused = Promise.resolve(call(shared))
    await expect(refused).rejects.toMatchObject({ kind: 'invalid' })
    await expect(refused).rejects.toThrow(message)
  })

  it('ends a stream at once, also while its reader waits', async () => {
    const messaging = await open({ agents: { slow: held } })
    const { messageId } = await messaging.messages.send({ ...hello, agent: 'slow', waitMs: 0 })
    const stream = await messaging.messages.stream({ agent: 'slow', messageId })
    let states = 0
    const reading = (async () => {
      for await (const { event } of stream ?? []) if (event === 'state') states++
    })()
    await expect.poll(() => states).toBeGreaterThan(0)
    await stream?.return?.()
    await reading
  })

  it('shows a webhook with its secret once, and never the sealed one', async () => {
    const messaging = await open()
    const url = 'https://receiver.example/'
    const created = await messaging.webhooks.create({ url, events: ['*'], headers: { 'X-A': 'b' } })
    expect(created).toMatchObject({
      url,
      secret: expect.stringMatching(/^whsec_/),
      headers: { 'X-A': { set: true } },
    })
    const { data } = await messaging.webhooks.list()
    expect(data).toMatchObject([{ id: created.id, headers: { 'X-A': { set: true } } }])
    expect(Object.keys(data[0] ?? {})).not.toContain('secret')
  })

  it('takes messages without workers, and answers them in a tick of any process', async () => {
    const database = `file:${path.join(directory(), 'data.db')}`
    const request = await open({ database, workers: false })
    const { messageId } = await request.messages.send({ ...hello, waitMs: 0 })
    expect(await request.messages.get({ agent: 'shouter', messageId })).toMatchObject({
      state: 'queued',
    })
    // The process of the request is frozen. The cron job of the platform starts another one.
    const cron = await open({ database, workers: false })
    const afterTick = async () => {
      await cron.tick({ budgetMs: 1_000 })
      return cron.messages.get({ agent: 'shouter', messageId })
    }
    await expect.poll(afterTick, PATIENCE).toMatchObject({ state: 'responded', response: 'HELLO!' })
  })

  it('asks without workers, while a tick runs', async () => {
    const messaging = await open({ workers: false })
    const asked = messaging.ask('shouter', 'a')
    await messaging.tick({ budgetMs: 10_000 })
    expect(await asked).toBe('A!')
  })

  it.each<[string, unknown[], string]>([
    ['no agent', [], 'is required'],
    ['no message', ['shouter'], 'message is required'],
    ['a message that is no text', ['shouter', 5], 'message must be'],
    ['an unknown option', ['shouter', 'a', { timeout: 5 }], '(did you mean timeoutMs?)'],
    ['options that are no object', ['shouter', 'a', 5], 'input must be an object'],
    ['a timeout that is no number', ['shouter', 'a', { timeoutMs: '5' }], 'timeoutMs must be'],
    ['a signal that is none', ['shouter', 'a', { signal: {} }], 'signal must be an AbortSignal'],
    ['a key that is no text', ['shouter', 'a', { idempotencyKey: 5 }], 'dempotency'],
  ])('refuses to ask with %s', async (_, input, text) => {
    const refused = (shared.ask as (...given: unknown[]) => unknown)(...input)
    await expect(refused).rejects.toMatchObject({ kind: 'invalid' })
    await expect(refused).rejects.toThrow(text)
  })

  it('listens to the events of its project', async () => {
    const messaging = await open()
    const answered = new Promise<string>((resolve) => {
      messaging.on('message.responded', ({ data }) => resolve(data.response), { name: 'mail' })
    })
    await messaging.messages.send(hello)
    expect(await answered).toBe('HELLO!')
    const mistyped = { name: 'mail', form: 'oldest' }
    expect(() => messaging.on('agent.error', () => undefined, mistyped)).toThrow('mean from?')
    const listen = () => messaging.on([], () => undefined, { name: 'mail' })
    expect(listen).toThrow(MessagingError)
    expect(listen).toThrow('events')
  })

  it('delivers a signed webhook', async () => {
    const received: string[] = []
    const receiver = createServer((request, response) => {
      const { 'x-service-event': event, 'x-service-signature': signature } = request.headers
      received.push(`${String(event)} ${String(signature)}`)
      response.end()
    }).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    onTestFinished(() => void receiver.close())
    const messaging = await open({ addresses: { allowLoopback: true, allowHttp: true } })
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
    await messaging.webhooks.create({ url, events: ['message.responded'] })
    await messaging.messages.send(hello)
    await expect
      .poll(() => received)
      .toEqual([expect.stringMatching(/^message\.responded sha256=[0-9a-f]{64}$/)])
  })

  it('keeps messages and the master key of a file database beside the file', async () => {
    const file = path.join(directory(), 'data.db')
    const first = await open({ database: `file:${file}` })
    const { messageId } = await first.messages.send(hello)
    await first.stop()
    expect(statSync(`${file}.key`).mode & 0o777).toBe(0o600)
    const key = readFileSync(`${file}.key`, 'utf8')
    const second = await open({ database: `file:${file}` })
    expect(readFileSync(`${file}.key`, 'utf8')).toBe(key)
    const kept = await second.messages.get({ agent: 'shouter', messageId })
    expect(kept).toMatchObject({ state: 'responded', response: 'HELLO!' })
  })

  it('refuses a database in use whose key file is missing, and creates no other key', async () => {
    const file = path.join(directory(), 'data.db')
    await (await open({ database: `file:${file}` })).stop()
    rmSync(`${file}.key`)
    await expect(open({ database: `file:${file}` })).rejects.toThrow(`${file}.key is missing`)
    expect(existsSync(`${file}.key`)).toBe(false)
  })

  it('refuses another master key than that of the database', async () => {
    const database = `file:${path.join(directory(), 'data.db')}`
    await (await open({ database, masterKey: Buffer.alloc(32, 1) })).stop()
    const opening = open({ database, masterKey: Buffer.alloc(32, 2) })
    await expect(opening).rejects.toThrow('the master key does not match this database')
  })

  it.each<[string, Partial<MessagingOptions>, string]>([
    [
      'an unknown kind of database',
      { database: 'mysql://root:pw@db/x' },
      'database is "mysql://…@db/x"',
    ],
    ['PostgreSQL without a master key', { database: 'postgres://db/x' }, 'masterKey is required'],
    ['a short master key', { masterKey: 'c2hvcnQ=' }, 'masterKey has 5 bytes'],
    ['an illegal agent name', { agents: { MyAgent: shout } }, 'use "my-agent"'],
    [
      'a number of connections for a pool',
      { database: undefined as never, pool: {} as never, databaseConnections: 5 },
      'databaseConnections is for database',
    ],
    [
      'an unknown option',
      { agnets: {} } as object,
      '"agnets" is not an option (did you mean agents?)',
    ],
    [
      'a policy with a text for a number',
      { policy: { syncWaitMs: '5s' as unknown as number } },
      'policy.syncWaitMs must be a number',
    ],
    [
      'a policy with an unknown setting',
      { policy: { syncWait: 5_000 } as object },
      'policy has no setting "syncWait" (did you mean syncWaitMs?)',
    ],
    [
      'a wrong part of a part of the policy',
      { policy: { deliver: { maxInFlite: 5 } } as object },
      'policy.deliver has no setting "maxInFlite" (did you mean maxInFlight?)',
    ],
    [
      'addresses that are a list',
      { addresses: ['127.0.0.0/8'] as object },
      'addresses has no field "0"; the fields are allowLoopback, allowHttp, allowedCidrs',
    ],
    [
      'an unknown runtime',
      { agents: { x: { runtime: { kind: 'magic' } } } },
      'runtime.kind must be one of',
    ],
  ])('refuses %s', async (_, options, message) => {
    await expect(open(options)).rejects.toThrow(message)
  })

  it.each(['stop', 'delete'] as const)('an agent that a person did %s stays so', async (action) => {
    const database = `file:${path.join(directory(), 'data.db')}`
    const first = await open({ database })
    await first.agents[action]({ agent: 'shouter' })
    await first.stop()
    const second = await open({ database })
    const { data } = await second.agents.list({ limit: 10 })
    expect(data.map(({ state }) => state)).toEqual(action === 'stop' ? ['stopped'] : [])
  })

  it('uses the key that the code has now, and the model that a person chose', async () => {
    const seen: string[] = []
    const model = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (body: string) => {
        const { model: name } = JSON.parse(body) as { model: string }
        seen.push(`${name} ${String(request.headers.authorization)}`)
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ choices: [{ message: { content: 'x' } }] }))
      })
    }).listen(0, '127.0.0.1')
    await once(model, 'listening')
    onTestFinished(() => void model.close())
    const baseUrl = `http://127.0.0.1:${(model.address() as AddressInfo).port}/v1`
    const runtime = { kind: 'openai', baseUrl, model: 'small', stream: false }
    const facts: Fact[] = []
    const start = (options: JsonObject) =>
      open({
        database,
        addresses: { allowLoopback: true, allowHttp: true },
        telemetry: { record: (fact) => void facts.push(fact) },
        agents: { shouter: { runtime: { ...runtime, ...options } } },
      })
    const database = `file:${path.join(directory(), 'data.db')}`
    const first = await start({ apiKey: 'k1' })
    await answerOf(first)
    await first.stop()
    const second = await start({ apiKey: 'k2' })
    await answerOf(second)
    await second.agents.stop({ agent: 'shouter' })
    const change = { runtime: { ...runtime, model: 'chosen', apiKey: 'k2' } }
    await second.agents.update({ agent: 'shouter', change })
    await second.agents.start({ agent: 'shouter' })
    await second.stop()
    await answerOf(await start({ apiKey: 'k3', model: 'large' }))
    expect(seen).toEqual(['small Bearer k1', 'small Bearer k2', 'chosen Bearer k3'])
    const kept = facts.filter(({ name }) => name === 'agent.settings_kept')
    expect(kept).toMatchObject([{ agent: 'shouter', fields: ['runtime.model'] }])
    expect(JSON.stringify(facts)).not.toMatch(/k[123]"|large|chosen/)
  })

  describe('writes to stderr', () => {
    const canary = 'canary-text-7f3a'
    const fails = ({ message }: { readonly message: string }): string => {
      throw new Error(`cannot answer ${message}`)
    }

    /** The lines of the service, without their times. */
    function stderr(): string[] {
      const lines: string[] = []
      const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
        lines.push(String(text).replace(/^\S+ /, ''))
        return true
      })
      onTestFinished(() => write.mockRestore())
      return lines
    }

    it('that an agent threw and a webhook failed, without messages and secrets', async () => {
      const lines = stderr()
      const receiver = createServer((_, response) => response.writeHead(500).end(canary))
      await once(receiver.listen(0, '127.0.0.1'), 'listening')
      onTestFinished(() => void receiver.close())
      const messaging = await open({
        agents: { shouter: fails },
        addresses: { allowLoopback: true, allowHttp: true },
      })
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/${canary}`
      const webhook = await messaging.webhooks.create({ url, events: ['*'] })
      const { messageId } = await messaging.messages.send({ ...hello, message: canary })
      const ref = { agent: 'shouter', messageId }
      await expect.poll(() => messaging.messages.get(ref)).toMatchObject({ state: 'failed' })
      await expect.poll(() => lines.length).toBeGreaterThanOrEqual(2)
      expect(lines).toContainEqual(
        expect.stringMatching(
          `^agent-messaging run.finished messageId=${messageId} .*error=RUNTIME_ERROR state=failed`,
        ),
      )
      expect(lines).toContainEqual(
        expect.stringMatching(
          `^agent-messaging delivery.attempted webhookId=${webhook.id} .*outcome=refused statusCode=500`,
        ),
      )
      expect(lines.join('')).not.toContain(canary)
    })

    it('that the secrets of an agent and a webhook cannot be decrypted', async () => {
      const database = `file:${path.join(directory(), 'data.db')}`
      const [masterKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
      await (await open({ database, masterKey })).stop()
      const runtime = { kind: 'openai', baseUrl: 'https://model.example', model: 'm', apiKey: 'k' }
      const both = { masterKey: newKey, otherMasterKeys: [masterKey] }
      const first = await open({
        database,
        ...both,
        agents: { shouter: shout, model: { runtime } },
      })
      const url = 'https://receiver.example/'
      await first.webhooks.create({ url, events: ['message.responded'] })
      await first.stop()
      const lines = stderr()
      const second = await open({ database, masterKey })
      await second.messages.send(hello)
      await expect.poll(() => lines.join('')).toMatch(/delivery.attempted .*unsealable_secret/)
      expect(lines.join('')).toMatch(/secret.unsealable agentId=/)
    })

    it('nothing if a telemetry replaces it, and nothing if all is well', async () => {
      const lines = stderr()
      await answerOf(await open())
      const silent = await open({
        agents: { shouter: fails },
        telemetry: { record: () => undefined },
      })
      expect((await answerOf(silent)).status).toBe('pending')
      expect(lines).toEqual([])
    })
  })

  it('lets a run in flight end when it stops, and stops once', async () => {
    let answer: (text: string) => void = () => undefined
    const messaging = await open({
      agents: { shouter: () => new Promise<string>((resolve) => (answer = resolve)) },
    })
    const sending = messaging.messages.send(hello)
    await expect.poll(() => messaging.service.host.load().runs).toBe(1)
    const stopping = [messaging.stop(), messaging.stop()]
    answer('late, but in time')
    await Promise.all(stopping)
    expect((await sending).messageId).toEqual(expect.any(String))
    expect(messaging.service.host.load().runs).toBe(0)
  })

  it('stops after a stop that was refused', async () => {
    const messaging = await open()
    for (const graceMs of ['10000', Number.NaN] as number[])
      await expect(messaging.stop({ graceMs })).rejects.toMatchObject({ kind: 'invalid' })
    expect(await answerOf(messaging)).toMatchObject({ status: 'responded' })
    await messaging.stop({ graceMs: 10_000 })
    await expect(answerOf(messaging)).rejects.toMatchObject({ kind: 'stopped' })
  })

  it('reseals step by step, and refuses a place that is not in `from`', async () => {
    const { reseal } = await open()
    const { next, ...found } = await reseal()
    expect(found).toEqual({ resealed: 0, unopened: 0 })
    await expect(reseal(next as object)).rejects.toMatchObject({ kind: 'invalid' })
    expect(await reseal({ from: next })).toEqual({ resealed: 0, unopened: 0 })
  })

  it('refuses a field that is named like a part of each object', async () => {
    const { agents } = await open()
    const change = JSON.parse('{"__proto__":{"__proto__":{"a":1}}}') as object
    const refused = agents.update({ agent: 'shouter', change })
    await expect(refused).rejects.toMatchObject({ kind: 'invalid' })
    await expect(refused).rejects.toThrow('__proto__')
  })

  it('lists what was asked for, also if the caller has changed its object since', async () => {
    const { agents } = await open({ agents: { one: shout, two: shout } })
    const asked = { limit: 1 }
    const list = agents.list(asked)
    asked.limit = 0
    expect((await list).data).toHaveLength(1)
  })

  it('takes a clock that a test moves', async () => {
    const clock = fakeClock()
    const messaging = await createMessaging({
      database: ':memory:',
      agents: { shouter: held },
      clock,
    })
    const sending = messaging.messages.send(hello)
    await expect.poll(() => messaging.service.host.load().waitingCallers).toBe(1)
    expect(await settled(clock, sending)).toMatchObject({ status: 'pending' })
    await settled(clock, messaging.stop({ graceMs: 0 }))
  })

  describe('on PostgreSQL', () => {
    let postgres: TestPostgres
    beforeAll(async () => {
      postgres = await testPostgres()
    })
    afterAll(() => postgres.close())

    it('answers a message, and finds it again', async () => {
      const options = { database: await postgres.database(), masterKey: Buffer.alloc(32, 7) }
      const first = await open(options)
      const { messageId } = await first.messages.send(hello)
      await first.stop()
      const second = await open(options)
      const kept = await second.messages.get({ agent: 'shouter', messageId })
      expect(kept).toMatchObject({ state: 'responded' })
    })

    it("works on the host's pool, and leaves it open", async () => {
      const pool = await postgres.pool()
      onTestFinished(() => pool.end())
      const masterKey = Buffer.alloc(32, 7)
      const messaging = await createMessaging({ pool, masterKey, agents: { shouter: shout } })
      expect(await answerOf(messaging)).toMatchObject({ status: 'responded' })
      await messaging.stop()
      const { rows } = await pool.query('select state from agent_messaging.messages')
      expect(rows).toEqual([{ state: 'responded' }])
    })

    it("accepts a message in the host's transaction, with its rows or not at all", async () => {
      const pool = await postgres.pool()
      onTestFinished(() => pool.end())
      const messaging = await createMessaging({
        pool,
        masterKey: Buffer.alloc(32, 7),
        agents: { shouter: shout },
      })
      const client = await pool.connect()
      for (const [message, end] of [
        ['kept', 'commit'],
        ['gone', 'rollback'],
      ] as const) {
        await client.query('begin')
        const sent = { ...hello, message, transaction: client }
        expect(await messaging.messages.enqueue(sent)).toMatchObject({ status: 'pending' })
        await client.query(end)
      }
      client.release()
      const { data } = await messaging.messages.list({ agent: 'shouter' })
      expect(data).toMatchObject([{ message: 'kept' }])
      await messaging.stop()
    })

    it("publishes in the host's transaction, in its order or not at all", async () => {
      const pool = await postgres.pool()
      onTestFinished(() => pool.end())
      const messaging = await createMessaging({ pool, masterKey: Buffer.alloc(32, 7) })
      const { publish, publishBatch, get, read } = messaging.events
      const client = await pool.connect()
      const event = { type: 'order.paid', data: { orderId: 'o-1' } }
      for (const [name, end] of [
        ['kept', 'commit'],
        ['gone', 'rollback'],
      ] as const) {
        await client.query('begin')
        const [first, second] = [`${name}-1`, `${name}-2`]
        await publish({ ...event, id: first, transaction: client })
        await publishBatch({ events: [{ ...event, id: second }], transaction: client })
        await client.query(end)
      }
      expect((await read({})).data.map((one) => one.event.id)).toEqual(['kept-1', 'kept-2'])
      await client.query('begin')
      const again = { ...event, id: 'kept-1', transaction: client }
      expect(await publish(again)).toEqual({ id: 'kept-1', replayed: true })
      await expect(publish({ ...again, data: {} })).rejects.toMatchObject({
        kind: 'idempotency_mismatch',
      })
      await client.query('commit')
      client.release()
      expect(await get({ eventId: 'kept-1' })).toMatchObject({ event: 'order.paid' })
      await messaging.stop()
    })

    it('refuses a pool without a master key, and with a database', async () => {
      const pool = await postgres.pool()
      onTestFinished(() => pool.end())
      await expect(createMessaging({ pool })).rejects.toThrow('masterKey is required')
      for (const options of [{}, { pool, database: ':memory:' }])
        await expect(createMessaging(options)).rejects.toThrow('give one of database and pool')
    })

    it('two programs share a database, and each runs its own agents', async () => {
      const options = { database: await postgres.database(), masterKey: Buffer.alloc(32, 7) }
      const facts: Fact[] = []
      const telemetry = { record: (fact: Fact) => void facts.push(fact) }
      const first = await open(options)
      const second = await open({ ...options, telemetry, agents: { 'other-one': shout } })
      const answers = [
        await first.messages.send(hello),
        await second.messages.send({ ...hello, agent: 'other-one' }),
      ]
      expect(answers.map(({ status }) => status)).toEqual(['responded', 'responded'])
      expect(facts.filter(({ name }) => name === 'agent.undeclared')).toMatchObject([
        { agents: ['shouter'], hint: expect.stringContaining('agents stop') as string },
      ])
    })

    it('keeps to its number of connections', async () => {
      const database = await postgres.database()
      const masterKey = Buffer.alloc(32, 7)
      // A busy machine must not refuse the last sends.
      const policy = { sendQueue: { maxWaitMs: 60_000 } }
      const messaging = await open({ database, masterKey, policy, databaseConnections: 2 })
      const sessions = Array.from({ length: 200 }, (_, n) => `${n}`)
      await Promise.all(
        sessions.map((sessionId) => messaging.messages.send({ ...hello, sessionId })),
      )
      const admin = new pg.Client({ connectionString: database })
      await admin.connect()
      onTestFinished(() => admin.end())
      const { rows } = await admin.query<{ open: number }>(
        `select count(*)::int as open from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`,
      )
      expect(rows[0]?.open).toBeLessThanOrEqual(4) // one more for wake-ups, and one for leases
    })
  })
})
