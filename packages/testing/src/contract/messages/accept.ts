import { expect } from 'vitest'
import type { JsonObject, Agent } from '@org/agent-messaging-core'
import { canonicalJson } from '@org/agent-messaging-core/runtime'
import { anAgent, anApiKey, newMessage } from '../../builders.js'
import { heldBy, LEASE_MS, NOW, SECOND, UNKNOWN_ID } from '../scene.js'
import type { StorageTest } from '../storage-test.js'

const TEXTS = [
  'a\u{1F600}\u2028é',
  '\uFEFFbyte order mark',
  ' padded\t\n',
  `'; drop table messages; --`,
  '%_*?[a]',
  'x'.repeat(65_536),
]
/** Characters that core refuses, but a host's program can pass to a storage. */
const ODD_TEXTS = [
  { what: 'a lone surrogate', text: 'a\ud800b', stored: ['a\uFFFDb'] },
  { what: 'NUL', text: 'a\0b', stored: ['a\0b', undefined] },
]
const METADATA =
  '{"__proto__":{"a":1},"channel":null,"nested":[{"deep":[true,1.5,-1e21]}],"":"","ключ":"\\u2028"}'

export function acceptSuite(it: StorageTest): void {
  it('G1: keeps a message and reads it back whole', async ({ storage: { messages }, scene }) => {
    const agent = await scene.agent()
    const metadata = JSON.parse(METADATA) as JsonObject
    const executionPrincipal = { type: 'end_user', endUserId: 'user 1' } as const
    const trace = {
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      tracestate: 'a=1',
    }
    const optional = { metadata, fingerprint: 'f00', idempotencyKey: 'k', trace }
    const sent = newMessage(agent, {
      ...optional,
      executionPrincipal,
      sessionId: 's',
      now: NOW + 7,
    })
    expect(await messages.accept(sent)).toMatchObject({
      kind: 'created',
      message: { fingerprint: 'f00', trace },
    })

    const { metadata: kept, ...message } = (await scene.reread(sent)) ?? {}
    const { id, projectId, agentId, sessionId, fingerprint } = sent
    const facts = {
      id,
      projectId,
      agentId,
      sessionId,
      message: sent.message,
      executionPrincipal,
      fingerprint,
      trace,
    }
    expect(message).toEqual({
      ...facts,
      attempt: 0,
      state: { kind: 'queued', notBefore: NOW + 7 },
      createdAt: NOW + 7,
    })
    expect(canonicalJson(kept ?? null)).toBe(canonicalJson(metadata))
  })

  it('returns the stored message, without fields that the caller left out', async ({
    storage: { messages },
    scene,
  }) => {
    const sent = newMessage(await scene.agent())
    const accepted = await messages.accept(sent)
    expect(accepted).toEqual({ kind: 'created', message: await scene.reread(sent) })
    expect(accepted).not.toHaveProperty('message.metadata')
    expect(accepted).not.toHaveProperty('message.fingerprint')
    expect(accepted).not.toHaveProperty('message.trace')
  })

  it.for(TEXTS)('keeps every character of %j', async (text, { storage: { messages }, scene }) => {
    const sent = newMessage(await scene.agent(), { message: text, sessionId: text.slice(0, 256) })
    await messages.accept(sent)
    expect(await scene.reread(sent)).toMatchObject({ message: text, sessionId: sent.sessionId })
  })

  it.for(ODD_TEXTS)(
    'stores the messages that come with a message that contains $what',
    async ({ text, stored }, { storage: { messages }, scene }) => {
      const agent = await scene.agent()
      const sent = ['before', text, 'after'].map((message, n) =>
        newMessage(agent, { message, sessionId: `${n}` }),
      )
      await Promise.allSettled(sent.map((message) => messages.accept(message)))
      const kept = await Promise.all(sent.map((message) => scene.reread(message)))
      const [before, odd, after] = kept.map((message) => message?.message.toWellFormed())
      expect([before, after]).toEqual(['before', 'after'])
      expect(stored).toContain(odd)
    },
  )

  it.for(ODD_TEXTS)(
    'stores the answers that come with an answer that contains $what',
    async ({ text, stored }, { storage: { messages }, scene }) => {
      const agent = await scene.agent()
      const runs = await Promise.all(
        ['before', text, 'after'].map(async (response, n) => ({
          ...heldBy(await scene.run(agent, { sessionId: `${n}` })),
          state: { kind: 'responded', response, respondedAt: NOW, responseTimeMs: 1 } as const,
          now: NOW,
        })),
      )
      await Promise.allSettled(runs.map((run) => messages.recordRun(run)))
      const { projectId, id: agentId } = agent
      const kept = await Promise.all(
        runs.map(({ messageId: id }) => scene.reread({ id, projectId, agentId })),
      )
      const [before, odd, after] = kept.map((message) =>
        message?.state.kind === 'responded' ? message.state.response.toWellFormed() : undefined,
      )
      expect([before, after]).toEqual(['before', 'after'])
      expect(stored).toContain(odd)
    },
  )

  it('is born running under a lease when the session is idle and the caller wants to run it', async ({
    storage: { messages },
    scene,
  }) => {
    const sent = newMessage(await scene.agent(), { claimUntil: NOW + LEASE_MS })
    const accepted = await messages.accept(sent)
    if (accepted.kind !== 'claimed') throw new Error(`it was ${accepted.kind}`)
    expect(accepted.claimed.message).toMatchObject({
      id: sent.id,
      attempt: 1,
      state: { kind: 'running', startedAt: NOW },
    })
    expect(accepted.claimed.lease.until).toBe(NOW + LEASE_MS)
    expect(accepted.claimed.lost).toBeUndefined()
    expect(await scene.reread(sent)).toEqual(accepted.claimed.message)
  })

  it('says agent_not_found for an agent that is not there', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = { ...(await scene.agent()), id: UNKNOWN_ID }
    expect(await messages.accept(newMessage(agent))).toEqual({ kind: 'agent_not_found' })
  })

  it.for(['stopped', 'starting', 'stopping', 'error'] as const)(
    'stores nothing for an agent that is %s',
    async (kind, { storage, scene }) => {
      const error = {
        lastError: { code: 'RUNTIME_EXITED', message: 'gone' },
        failures: 1,
        retryAt: NOW,
      } as const
      const agent = await scene.agent({ state: kind === 'error' ? { kind, ...error } : { kind } })
      const sent = newMessage(agent)
      expect(await storage.messages.accept(sent)).toEqual({ kind: 'agent_not_running' })
      expect(await scene.reread(sent)).toBeUndefined()
    },
  )

  it('lets at most maxQueued open messages be ahead of a new one', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent({ maxQueued: 2 })
    const first = await scene.run(agent)
    await scene.send(agent)
    await scene.send(agent)
    const refused = newMessage(agent)
    expect(await messages.accept(refused)).toEqual({ kind: 'session_full' })
    expect(await scene.reread(refused)).toBeUndefined()

    await scene.answer(first)
    expect(await messages.accept(refused)).toMatchObject({ kind: 'created' })
  })

  it('takes messages one at a time into the sessions of an agent with maxQueued 0', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent({ maxQueued: 0 })
    const run = await scene.run(agent, { sessionId: 'a' })
    expect(await messages.accept(newMessage(agent, { sessionId: 'a' }))).toEqual({
      kind: 'session_full',
    })
    expect(await messages.accept(newMessage(agent, { sessionId: 'b' }))).toMatchObject({
      kind: 'created',
    })
    await scene.answer(run)
    expect(await messages.accept(newMessage(agent, { sessionId: 'a' }))).toMatchObject({
      kind: 'created',
    })
  })

  it('counts a message that backs off as one that is ahead', async ({
    storage: { messages },
    scene,
  }) => {
    const agent = await scene.agent({ maxQueued: 0 })
    const run = await scene.run(agent)
    await messages.recordRun({
      ...heldBy(run),
      state: { kind: 'queued', notBefore: NOW + SECOND },
      now: NOW,
    })
    expect(await messages.accept(newMessage(agent))).toEqual({ kind: 'session_full' })
  })

  it('takes exactly as many messages as have room when they come at once', async ({
    storage,
    second,
    scene,
  }) => {
    const agent = await scene.agent({ maxQueued: 4 })
    const sends = Array.from({ length: 20 }, (_, i) =>
      (i % 2 ? storage : second).messages.accept(newMessage(agent)),
    )
    const kinds = (await Promise.all(sends)).map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'created')).toHaveLength(5)
    expect(kinds.filter((kind) => kind === 'session_full')).toHaveLength(15)
  })

  it('refuses a revoked or unknown key that was read earlier, before anything else', async ({
    storage: { messages, credentials },
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    const key = anApiKey()
    await credentials.createKey(key, 'ab'.repeat(32), 10)
    const withKey = { readEarlier: { apiKeyId: key.id } }
    const sent = newMessage(agent, { ...withKey, idempotencyKey: 'k' })
    expect(await messages.accept(sent)).toMatchObject({ kind: 'created' })
    await second.credentials.revokeKey(key.projectId, key.id, NOW)
    const refused = [
      newMessage(agent, withKey),
      newMessage(agent, { ...withKey, idempotencyKey: 'k' }),
      newMessage(anAgent(), withKey),
      newMessage(agent, { readEarlier: { apiKeyId: UNKNOWN_ID } }),
    ]
    for (const message of refused)
      expect(await messages.accept(message)).toEqual({ kind: 'key_revoked' })
    const { data } = await messages.list(agentOf(agent), { limit: 10 })
    expect(data.map(({ id }) => id)).toEqual([sent.id])
  })

  it('refuses an agent that has changed since it was read, also for a known key', async ({
    storage: { messages, agents },
    second,
    scene,
  }) => {
    const agent = await scene.agent()
    const asRead = { readEarlier: { agentUpdatedAt: agent.updatedAt } }
    const sent = newMessage(agent, { ...asRead, idempotencyKey: 'k' })
    expect(await messages.accept(sent)).toMatchObject({ kind: 'created' })
    const updatedAt = agent.updatedAt + 1
    await second.agents.update(agent.projectId, agent.id, { concurrency: 2, updatedAt })
    expect(await messages.accept(newMessage(agent, asRead))).toEqual({ kind: 'agent_changed' })
    const withKey = newMessage(agent, { ...asRead, idempotencyKey: 'k' })
    expect(await messages.accept(withKey)).toEqual({ kind: 'agent_changed' })
    // The repeated write of a message that is stored already.
    expect(await messages.accept(sent)).toMatchObject({
      kind: 'existing',
      message: { id: sent.id },
    })
    const current = { readEarlier: { agentUpdatedAt: updatedAt } }
    expect(await messages.accept(newMessage(agent, current))).toMatchObject({ kind: 'created' })
    await agents.changeState({ agentId: agent.id, from: 'running', to: { kind: 'stopping' } })
    expect(await messages.accept(newMessage(agent, asRead))).toEqual({ kind: 'agent_not_running' })
  })

  it('refuses only the messages of a batch that are out of date', async ({
    storage: { messages, credentials },
    scene,
  }) => {
    const agent = await scene.agent()
    const key = anApiKey()
    await credentials.createKey(key, 'ab'.repeat(32), 10)
    await credentials.revokeKey(key.projectId, key.id, NOW)
    const { updatedAt } = agent
    const earlier = [
      { agentUpdatedAt: updatedAt },
      { agentUpdatedAt: updatedAt - 1 },
      { agentUpdatedAt: updatedAt, apiKeyId: key.id },
      {},
    ]
    const accepted = await Promise.all(
      earlier.map((readEarlier, n) =>
        messages.accept(newMessage(agent, { readEarlier, sessionId: `s${n}` })),
      ),
    )
    expect(accepted.map(({ kind }) => kind)).toEqual([
      'created',
      'agent_changed',
      'key_revoked',
      'created',
    ])
  })
}

const agentOf = ({ projectId, id: agentId }: Agent) => ({ projectId, agentId })
