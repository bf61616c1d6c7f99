import {
  createService,
  defaultPolicy,
  type EventHandler,
  type ListenInput,
  type MessagingService,
} from '@org/agent-messaging-core'
import { describe, expect, it } from 'vitest'
import { scene as open } from './scene.js'

const LEASE_MS = 30_000

/** A scene whose agent repeats the message. `listen` collects the answers that a listener gets. */
async function scene(options: Parameters<typeof open>[0] = {}) {
  const handler = ({ message }: { readonly message: string }) =>
    ({ kind: 'answered', response: message }) as const
  const base = await open({ handler, ...options })
  const { clock, project, send } = base
  return {
    ...base,
    listen: (
      service: MessagingService,
      handle: EventHandler<'message.responded'> = () => undefined,
      more: Partial<ListenInput<'message.responded'>> = {},
    ) => {
      const heard: string[] = []
      const listening = service.events.on({
        ...{ projectId: project.id, name: 'mail', events: 'message.responded', ...more },
        handler: async (event, context) => {
          heard.push(event.data.response)
          await handle(event, context)
        },
      })
      return { heard, ...listening }
    },
    /** Sends messages, which are answered, and lets listeners work. */
    answer: async (...messages: readonly string[]) => {
      for (const message of messages) await send(message)
      await clock.advance(0)
    },
  }
}

/** A handler that stays in its first call, and the signal of that call. */
function stuck() {
  const signals: AbortSignal[] = []
  const handle: EventHandler<'message.responded'> = (_event, { signal }) => {
    signals.push(signal)
    return new Promise(() => undefined)
  }
  return { handle, signals }
}

describe('a listener', () => {
  it('gets the named events of its project in order, from its creation on', async () => {
    const { answer, clock, listen, project, service } = await scene()
    await answer('before')
    await clock.advance(1)
    const { heard } = listen(service)
    const all: string[] = []
    service.events.on({
      projectId: project.id,
      name: 'all',
      events: ['agent.started', 'message.responded'],
      from: 'oldest',
      handler: ({ event }) => void all.push(event),
    })
    await answer('a', 'b', 'c')
    await clock.advance(500)
    expect(heard).toEqual(['a', 'b', 'c'])
    const answers = ['before', 'a', 'b', 'c'].map(() => 'message.responded')
    expect(all).toEqual(['agent.started', ...answers])
  })

  it('gets the content of the event', async () => {
    const { clock, listen, post, project, service } = await scene()
    const events: unknown[] = []
    listen(service, (event) => void events.push(event))
    const { id: messageId } = await post('a', { metadata: { channel: 'web' } })
    await clock.advance(500)
    const [{ body } = { body: '' }] = (
      await service.events.read({ projectId: project.id })
    ).data.slice(-1)
    expect(events).toEqual([JSON.parse(body)])
    expect(events).toMatchObject([{ event: 'message.responded', data: { messageId } }])
  })

  it('continues after a stop where it was, whatever `from` says', async () => {
    const { another, answer, clock, listen, service } = await scene()
    const { heard } = listen(service)
    await answer('a', 'b')
    await service.stop()
    const next = another()
    await next.start()
    const { heard: later } = listen(next, undefined, { from: 'oldest' })
    await answer('c')
    await clock.advance(500)
    expect([heard, later]).toEqual([['a', 'b'], ['c']])
  })

  it('works in one process at a time, and in the next one after a stop', async () => {
    const { another, answer, clock, listen, service } = await scene()
    const other = another()
    await other.start()
    const { heard, stop } = listen(service)
    await clock.advance(0)
    const { heard: others } = listen(other)
    await answer('a', 'b')
    await clock.advance(500)
    expect([heard, others]).toEqual([['a', 'b'], []])
    await stop()
    await answer('c')
    await clock.advance(500)
    expect([heard, others]).toEqual([['a', 'b'], ['c']])
  })

  it('keeps its name after a stop until its handler has ended', async () => {
    const { another, answer, clock, listen, service } = await scene()
    const { heard, stop } = listen(service, () => clock.sleep(12_000))
    await answer('a')
    const other = another()
    await other.start()
    const { heard: others } = listen(other)
    const stopped = stop()
    await clock.advance(10_000)
    await stopped
    await answer('b')
    await clock.advance(1_500)
    expect([heard, others]).toEqual([['a'], []])
    await clock.advance(1_500)
    expect([heard, others]).toEqual([['a'], ['b']])
  })

  it('is taken over at the end of its lease, with at most a second of events again', async () => {
    const { another, answer, clock, listen, service, storage } = await scene()
    const { handle, signals } = stuck()
    const { heard } = listen(service, (event, context) =>
      event.data.response === 'd' ? handle(event, context) : undefined,
    )
    await answer('a')
    await clock.advance(1_000)
    await answer('b', 'c', 'd')
    storage.fail('events.listen', { times: Infinity }) // as if the process were dead
    const other = another()
    await other.start()
    const { heard: others } = listen(other)
    await clock.advance(LEASE_MS - 2_000)
    expect(others).toEqual([])
    await clock.advance(3_000)
    expect([heard, others]).toEqual([
      ['a', 'b', 'c', 'd'],
      ['b', 'c', 'd'],
    ])
    expect(signals[0]?.aborted).toBe(false)
    storage.fail('events.listen', { times: 0 })
    await clock.advance(LEASE_MS)
    expect(signals[0]?.aborted).toBe(true)
    await other.stop()
  })

  it('keeps its lease while a handler takes long', async () => {
    const { another, answer, clock, listen, service } = await scene()
    const { heard } = listen(service, () => clock.sleep(3 * LEASE_MS))
    await answer('a', 'b')
    const other = another()
    await other.start()
    const { heard: others } = listen(other)
    await clock.advance(5 * LEASE_MS)
    expect([heard, others]).toEqual([['a', 'b'], []])
  })

  it('gets an event again after 1, 5 and 30 seconds and then each minute, and later ones after it', async () => {
    const { answer, clock, listen, service, telemetry } = await scene()
    const attempts: (readonly [string, number, number])[] = []
    const start = clock.elapsed()
    listen(service, ({ data }, { attempt }) => {
      attempts.push([data.response, attempt, clock.elapsed() - start])
      if (data.response === 'a' && attempt < 6) throw new TypeError('no')
    })
    await answer('a', 'b')
    await clock.advance(160_000)
    expect(attempts).toEqual([
      ['a', 1, 0],
      ['a', 2, 1_000],
      ['a', 3, 6_000],
      ['a', 4, 36_000],
      ['a', 5, 96_000],
      ['a', 6, 156_000],
      ['b', 1, 156_000],
    ])
    const failures = telemetry.facts.filter(({ name }) => name === 'listener.failed')
    expect(failures).toHaveLength(5)
    expect(failures[0]).toMatchObject({
      ...{ listener: 'mail', event: 'message.responded', attempt: 1, error: 'TypeError' },
    })
  })

  it('gets events although a claim and a read take longer than a second', async () => {
    const { answer, clock, listen, service, storage } = await scene()
    const { list, listen: claim } = storage.events
    Object.assign(storage.events, {
      listen: async (...step: Parameters<typeof claim>) => {
        await clock.sleep(700)
        return claim(...step)
      },
      list: async (...asked: Parameters<typeof list>) => {
        await clock.sleep(1_200)
        return list(...asked)
      },
    })
    const { heard } = listen(service)
    await answer('a', 'b', 'c')
    await clock.advance(30_000)
    expect(heard).toEqual(['a', 'b', 'c'])
  })

  it('stores its place once for many events', async () => {
    const { answer, clock, listen, service, storage } = await scene()
    const { listen: store } = storage.events
    let stored = 0
    Object.assign(storage.events, {
      listen: (...step: Parameters<typeof store>) => {
        stored++
        return store(...step)
      },
    })
    const { heard } = listen(service)
    await clock.advance(0)
    stored = 0
    await answer(...Array.from({ length: 100 }, (_, n) => `${n}`))
    expect([heard.length, stored]).toEqual([100, 1])
    await answer('last')
    expect([heard.length, stored]).toEqual([101, 1])
    await clock.advance(1_500)
    expect(stored).toBe(2)
  })

  it('gets an event that was accepted before it and committed afterwards', async () => {
    const { clock, listen, post, service, storage } = await scene()
    const { recordRun } = storage.messages
    const committing = Promise.withResolvers<void>()
    Object.assign(storage.messages, {
      recordRun: async (...run: Parameters<typeof recordRun>) => {
        await committing.promise
        return recordRun(...run)
      },
    })
    await post('late')
    await clock.advance(1)
    storage.fail('events.listen', { times: 1 }) // the place is read after the commit
    const { heard } = listen(service)
    await clock.advance(1)
    committing.resolve()
    await clock.advance(1_000)
    expect(heard).toEqual(['late'])
  })

  it('does not get an event that was erased while the handler had the one before', async () => {
    const { answer, clock, listen, project, send, service } = await scene()
    const executionPrincipal = { type: 'end_user', endUserId: 'u' } as const
    await send('a')
    await send('b', { executionPrincipal })
    await answer('c')
    const handle: EventHandler<'message.responded'> = async ({ data }) => {
      if (data.response !== 'a') return
      await service.principals.erase({ projectId: project.id, endUserId: 'u' })
      await clock.sleep(LEASE_MS / 3 + 500) // the lease was extended just before
    }
    const { heard } = listen(service, handle, { from: 'oldest' })
    await clock.advance(LEASE_MS)
    expect(heard).toEqual(['a', 'c'])
  })

  it('does not get an erased event, also not again', async () => {
    const { answer, clock, listen, project, send, service } = await scene()
    const { heard } = listen(service, ({ data }) => {
      if (data.response === 'a') throw new Error('no')
    })
    const executionPrincipal = { type: 'end_user', endUserId: 'u' } as const
    await send('a', { executionPrincipal })
    await answer('b')
    expect(heard).toEqual(['a'])
    await service.principals.erase({ projectId: project.id, endUserId: 'u' })
    await clock.advance(1_000)
    expect(heard).toEqual(['a', 'b'])
  })

  it('continues with the oldest event after a purge of events that it has not got', async () => {
    const retention = { ...defaultPolicy.retention, eventsMs: 60_000 }
    const { another, answer, clock, listen, service, telemetry } = await scene({
      policy: { retention },
    })
    const { heard, stop } = listen(service)
    await answer('a')
    await stop()
    await answer('b')
    await clock.advance(60_001)
    await answer('c')
    await service.tick({ budgetMs: 1_000 })
    const other = another()
    await other.start()
    const { heard: others } = listen(other)
    await clock.advance(500)
    expect([heard, others]).toEqual([['a'], ['c']])
    const expired = telemetry.facts.filter(({ name }) => name === 'listener.expired')
    expect(expired).toMatchObject([{ listener: 'mail' }])
  })

  it('gets no one-time link', async () => {
    const { clock, sender, hook, post, project, runtime, ...platform } = await open()
    const publicUrl = () => 'https://agents.example'
    const service = createService({ ...platform, clock, sender, publicUrl })
    await platform.service.stop()
    await service.start()
    await hook()
    const questions: object[] = []
    service.events.on({
      projectId: project.id,
      name: 'questions',
      events: 'message.input_required',
      handler: ({ data }) => void questions.push(data),
    })
    const { id } = await post()
    await clock.advance(500)
    runtime.ask(id, { question: 'Really?', expiresInMs: 60_000 })
    await clock.advance(500)
    expect(sender.requests.some(({ body }) => body.includes('inputUrl'))).toBe(true)
    expect(questions).toMatchObject([{ input: { question: 'Really?' } }])
    expect(questions[0]).not.toHaveProperty('inputUrl')
  })

  it('waits for the storage', async () => {
    const { answer, clock, listen, service, storage } = await scene()
    for (const method of ['events.listen', 'events.positionAt', 'events.list'] as const)
      storage.fail(method, { times: 3 })
    const { heard } = listen(service)
    await answer('a')
    expect(heard).toEqual([])
    await clock.advance(10_000)
    expect(heard).toEqual(['a'])
  })

  it('works in passes, and leaves the next pass to any process', async () => {
    const { another, clock, listen, post, service } = await scene({ idle: true })
    const { heard } = listen(service)
    await service.tick({ budgetMs: 0 })
    await post('a')
    const pass = service.tick({ budgetMs: 10_000 })
    await clock.advance(1)
    await pass
    expect(heard).toEqual(['a'])
    await post('b')
    const other = another()
    const { heard: others } = listen(other)
    const next = other.tick({ budgetMs: 10_000 })
    await clock.advance(1)
    await next
    expect([heard, others]).toEqual([['a'], ['b']])
  })
})

describe('a stop', () => {
  it('waits for the handler, and starts no other one', async () => {
    const { answer, clock, listen, service } = await scene()
    let ended = 0
    const { heard } = listen(service, async () => {
      await clock.sleep(2_000)
      ended++
    })
    await answer('a', 'b')
    const stopped = service.stop({ graceMs: 5_000 })
    await clock.advance(2_000)
    await stopped
    expect([heard, ended]).toEqual([['a'], 1])
  })

  it('aborts the handler after the grace, and its event comes again', async () => {
    const { another, answer, clock, listen, service } = await scene()
    const { handle, signals } = stuck()
    listen(service, handle)
    await answer('a')
    const stopped = service.stop({ graceMs: 5_000 })
    await clock.advance(5_000)
    await stopped
    expect(signals[0]?.aborted).toBe(true)
    const other = another()
    await other.start()
    const { heard } = listen(other)
    await clock.advance(LEASE_MS + 500)
    expect(heard).toEqual(['a'])
    const late = { projectId: 'p', name: 'late', handler: () => undefined }
    expect(() => service.events.on({ ...late, events: 'agent.error' })).toThrow(
      'The service has stopped',
    )
  })
})

it.each([
  [{ name: '' }, 'name'],
  [{ events: [] }, 'events'],
  [{ events: 'message.answered' }, 'events'],
  [{ from: 'then' }, 'from'],
  [{ handler: 'no function' }, 'handler'],
])('refuses a listener with %j', async (wrong, path) => {
  const { service } = await open()
  const input = { projectId: 'p', name: 'n', events: 'agent.error', handler: () => undefined }
  const listen = () => service.events.on({ ...input, ...wrong } as ListenInput)
  expect(listen).toThrow(
    expect.objectContaining({
      details: { kind: 'invalid', issues: [expect.objectContaining({ path })] },
    }),
  )
})
