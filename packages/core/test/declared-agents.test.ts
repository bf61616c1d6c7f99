import {
  createService,
  type AgentSettings,
  type JsonObject,
  type ServiceOptions,
} from '@org/agent-messaging-core'
import { failure, success } from '@org/agent-messaging-core/runtime'
import {
  fakeCrypto,
  fakePlatform,
  fakeRuntime,
  refusalOf,
  unwrap,
} from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'

const bot: AgentSettings = { name: 'bot', runtime: { kind: 'model', model: 'small', apiKey: 'k1' } }

/** Like the adapters: the key is secret, and the options have a mark in its place. */
const modelRuntime = () =>
  fakeRuntime({
    kind: 'model',
    signsRequests: true,
    handler: () => ({ kind: 'answered', response: 'x' }),
    parseOptions: async ({ apiKey, ...shown }: JsonObject) =>
      success({
        options: { ...shown, ...(apiKey !== undefined && { apiKey: { set: true } }) },
        secrets: apiKey === undefined ? {} : { apiKey },
      }),
  })

async function scene() {
  const platform = fakePlatform()
  const { storage, telemetry } = platform
  /** A program, not started yet. */
  const program = (crypto: ServiceOptions['crypto'] = platform.crypto) => {
    const runtime = modelRuntime()
    const runtimes = [runtime, fakeRuntime({ kind: 'other' })]
    return { runtime, service: createService({ ...platform, runtimes, crypto }) }
  }
  const { service: operator } = program()
  const { id: projectId } = await operator.projects.create({ name: 'p' })
  const ref = { projectId, agent: 'bot' }
  /** Each start is a new program. Returns what the model runtime gets from it. */
  const start = async (agents: readonly AgentSettings[], crypto?: ServiceOptions['crypto']) => {
    const { runtime, service } = program(crypto)
    await service.agents.declare({ projectId, agents })
    await service.start()
    await service.stop({ graceMs: 0 })
    const [started] = runtime.starts
    return { ...started?.agent.runtime.options, ...started?.secrets, signingSecret: undefined }
  }
  const agent = async (name = 'bot') => unwrap(await storage.agents.get(projectId, name))
  /** A person changes the settings in the console. */
  const change = async (settings: Partial<AgentSettings>) => {
    await storage.agents.changeState({
      agentId: (await agent())?.id ?? '',
      from: 'running',
      to: { kind: 'stopped' },
    })
    await operator.agents.stop(ref)
    await operator.agents.update({ ...ref, change: settings })
    await operator.agents.start(ref)
  }
  const warnings = () =>
    telemetry.facts
      .filter(({ name }) => name === 'agent.settings_kept' || name === 'agent.undeclared')
      .map(({ agent: name, agents, fields }) => ({ ...(name ? { name, fields } : { agents }) }))
  return { ...platform, program, operator, projectId, ref, start, agent, change, warnings }
}

const withRuntime = (runtime: JsonObject, settings: Partial<AgentSettings> = {}) => ({
  ...bot,
  ...settings,
  runtime: { ...bot.runtime, ...runtime },
})

describe('an agent that code declares', () => {
  it('is created and started once, and nothing is written while the code is the same', async () => {
    const { start, agent } = await scene()
    expect(await start([bot])).toMatchObject({ model: 'small', apiKey: 'k1' })
    const first = await agent()
    expect(first?.desiredState).toBe('running')
    await start([bot])
    expect(await agent()).toEqual({ ...first, state: expect.anything() as unknown })
  })

  it('gets a rotated key and a changed model at the next start', async () => {
    const { start, warnings } = await scene()
    await start([bot])
    expect(await start([withRuntime({ apiKey: 'k2' })])).toMatchObject({ apiKey: 'k2' })
    const changed = withRuntime({ apiKey: 'k2', model: 'large' })
    expect(await start([changed])).toMatchObject({ apiKey: 'k2', model: 'large' })
    expect(warnings()).toEqual([])
  })

  it('keeps its signing secret when its settings change', async () => {
    const { start, agent, crypto } = await scene()
    const secretOf = async () => {
      const found = await agent()
      const sealed = found?.runtime.secrets
      const text = sealed && crypto.unseal(sealed, `agents/${found.id}/runtime`)
      return (JSON.parse(text ?? '{}') as JsonObject)['signingSecret']
    }
    await start([bot])
    const before = await secretOf()
    await start([withRuntime({ apiKey: 'k2' })])
    expect(before).toEqual(expect.any(String))
    expect(await secretOf()).toBe(before)
  })

  it('runs messages with the new settings, also if it runs in another process', async () => {
    const { program, projectId, ref, clock } = await scene()
    const { runtime, service } = program()
    await service.agents.declare({ projectId, agents: [bot] })
    await service.start()
    const other = program().service
    const agents = [withRuntime({ apiKey: 'k2' })]
    await other.agents.declare({ projectId, agents })
    await clock.advance(1_000)
    expect(runtime.starts.map(({ secrets }) => secrets['apiKey'])).toEqual(['k1', 'k2'])
    const sent = service.messages.send({ ...ref, sessionId: 's', message: 'm' })
    await clock.advance(0)
    expect((await sent).message.state.kind).toBe('responded')
    await service.stop({ graceMs: 0 })
  })

  it('writes every setting that the code changes, removes or adds', async () => {
    const { start, agent, warnings } = await scene()
    const a2a = { enabled: true }
    await start([{ ...bot, concurrency: 2, maxAttempts: 9, a2a }])
    await start([withRuntime({ temperature: 1 }, { concurrency: 4, onBusy: 'reject' })])
    expect(await agent()).toMatchObject({
      concurrency: 4,
      maxAttempts: 3,
      maxQueued: 0,
      a2a: { enabled: false },
      runtime: { options: { model: 'small', temperature: 1 } },
    })
    await start([bot])
    expect((await agent())?.runtime.options).toEqual({ model: 'small', apiKey: { set: true } })
    expect(warnings()).toEqual([])
  })

  it('keeps the value of a person, with one warning if the code has changed since', async () => {
    const { start, agent, change, warnings } = await scene()
    await start([bot])
    await change({ runtime: { kind: 'model', model: 'person', apiKey: 'k1' }, concurrency: 5 })
    await start([bot])
    expect(warnings()).toEqual([])
    const changed = withRuntime({ model: 'large', apiKey: 'k2' }, { concurrency: 7 })
    expect(await start([changed])).toMatchObject({ model: 'person', apiKey: 'k2' })
    expect((await agent())?.concurrency).toBe(5)
    const warning = { name: 'bot', fields: ['concurrency', 'runtime.model'] }
    expect(warnings()).toEqual([warning])
    await start([changed])
    expect(warnings()).toEqual([warning, warning])
  })

  it('keeps an option that a person added, and takes the code back when the values agree', async () => {
    const { start, change, warnings } = await scene()
    await start([bot])
    const person = { kind: 'model', model: 'person', apiKey: 'k1', temperature: 1 }
    await change({ runtime: person })
    expect(await start([bot])).toMatchObject({ model: 'person', temperature: 1 })
    await start([withRuntime({ model: 'person' })])
    expect(await start([withRuntime({ model: 'large' })])).toMatchObject({
      model: 'large',
      temperature: 1,
    })
    expect(warnings()).toEqual([])
    await start([withRuntime({ model: 'large', temperature: 0 })])
    expect(warnings()).toEqual([{ name: 'bot', fields: ['runtime.temperature'] }])
  })

  it('gets another kind of runtime as a whole', async () => {
    const { start, agent, change, warnings } = await scene()
    await start([bot])
    const other = { name: 'bot', runtime: { kind: 'other' } }
    await start([other])
    expect((await agent())?.runtime).toMatchObject({ kind: 'other', options: {} })
    await start([bot])
    expect((await agent())?.runtime).toMatchObject({ kind: 'model', options: { model: 'small' } })
    await change({ runtime: { kind: 'other' } })
    await start([withRuntime({ model: 'large' })])
    expect((await agent())?.runtime.kind).toBe('other')
    expect(warnings()).toEqual([])
  })

  it('that a person stopped or deleted stays so', async () => {
    const { start, agent, operator, ref } = await scene()
    await start([bot])
    await operator.agents.stop(ref)
    await start([withRuntime({ apiKey: 'k2' })])
    expect((await agent())?.desiredState).toBe('stopped')
    await operator.agents.delete(ref)
    await start([bot])
    expect(await agent()).toBeUndefined()
  })

  it('that exists already keeps settings that differ, with a warning', async () => {
    const { start, operator, projectId, agent, warnings } = await scene()
    await operator.agents.create({ projectId, ...withRuntime({ model: 'person' }) })
    const declared = withRuntime({ temperature: 1 })
    await start([declared])
    await start([declared])
    expect((await agent())?.runtime.options).toMatchObject({ model: 'person' })
    const warning = { name: 'bot', fields: ['runtime.model', 'runtime.temperature'] }
    expect(warnings()).toEqual([warning, warning])
  })

  it('that failed for good is tried again with the new settings', async () => {
    const { start, agent, storage } = await scene()
    await start([bot])
    const { id = '' } = (await agent()) ?? {}
    const lastError = { code: 'RUNTIME_EXITED', message: 'no' } as const
    const to = { kind: 'error', lastError, failures: 10 } as const
    await storage.agents.changeState({ agentId: id, from: 'running', to })
    await start([bot])
    expect((await agent())?.state.kind).toBe('error')
    await start([withRuntime({ apiKey: 'k2' })])
    expect((await agent())?.state.kind).toBe('running')
  })
})

describe('two programs on one database', () => {
  it('each start warns of the running agents of the other, and stops none', async () => {
    const { start, agent, warnings, operator, ref } = await scene()
    await start([bot])
    await start([
      { ...bot, name: 'second' },
      { ...bot, name: 'third' },
    ])
    expect(warnings()).toEqual([{ agents: ['bot'] }])
    await start([bot])
    expect(warnings().slice(1)).toEqual([{ agents: ['second', 'third'] }])
    expect((await agent('second'))?.desiredState).toBe('running')
    await operator.agents.stop(ref)
    await start([
      { ...bot, name: 'second' },
      { ...bot, name: 'third' },
    ])
    expect(warnings()).toHaveLength(2)
  })

  it('declares at the same time create one agent, and the last start wins', async () => {
    const { program, projectId, agent, start } = await scene()
    const programs = Array.from({ length: 4 }, () => program().service)
    await Promise.all(
      programs.map((service, i) =>
        service.agents.declare({ projectId, agents: [bot, { ...bot, name: `own-${i}` }] }),
      ),
    )
    await start([withRuntime({ model: 'v2' })])
    await start([withRuntime({ model: 'v1' })])
    expect((await agent())?.runtime.options).toMatchObject({ model: 'v1' })
  })
})

describe('a refused declaration', () => {
  it('names the agent', async () => {
    const { program, projectId, storage } = await scene()
    const { agents } = program().service
    const declare = async (settings: object) =>
      await refusalOf(agents.declare({ projectId, agents: [{ ...bot, ...settings }] }))
    expect(await declare({ name: 'x', runtime: { kind: 'nope' } })).toMatchObject({
      kind: 'invalid',
      agent: 'x',
    })
    await agents.declare({ projectId, agents: [bot] })
    expect(await declare({ concurrency: 0 })).toMatchObject({ kind: 'invalid', agent: 'bot' })
    Object.assign(storage.agents, {
      get: () => Promise.resolve(failure({ kind: 'unavailable', reason: 'away' })),
    })
    expect(await declare({})).toMatchObject({ kind: 'unavailable', agent: 'bot' })
  })
})

describe('another master key', () => {
  const [both, alone] = [fakeCrypto('new', ['fake master key']), fakeCrypto('new')]

  async function resealed({ program }: Awaited<ReturnType<typeof scene>>) {
    const { secrets } = program(both).service
    for (let next, done = false; !done; done = next === undefined)
      ({ next } = await secrets.reseal({ from: next }))
  }

  it('still knows what the code last set, once the secrets are resealed', async () => {
    const own = await scene()
    const { start, change, operator, projectId, storage, warnings } = own
    await start([bot, { ...bot, name: 'second' }, { ...bot, name: 'third' }])
    await change({ concurrency: 5 })
    await operator.agents.delete({ projectId, agent: 'third' })
    // Another process declares an agent in between.
    const { replaceSetting } = storage.credentials
    let isFirst = true
    Object.assign(storage.credentials, {
      replaceSetting: (name: string, from: string | undefined, to: string) => {
        const isOvertaken = isFirst && name === 'declared-agents'
        if (isOvertaken) isFirst = false
        return replaceSetting(name, isOvertaken ? 'an earlier one' : from, to)
      },
    })
    await resealed(own)
    const rotated = withRuntime({ apiKey: 'k2' })
    expect(await start([rotated, { ...rotated, name: 'second' }], alone)).toMatchObject({
      apiKey: 'k2',
    })
    expect(isFirst).toBe(false)
    expect(warnings()).toEqual([{ name: 'bot', fields: ['concurrency'] }])
  })

  it("knows it of a person's settings too after a start with both keys", async () => {
    const own = await scene()
    const { start, change, warnings } = own
    await start([bot])
    await change({ concurrency: 5 })
    await start([bot], both)
    await resealed(own)
    await start([bot], alone)
    expect(warnings()).toEqual([])
  })
})
