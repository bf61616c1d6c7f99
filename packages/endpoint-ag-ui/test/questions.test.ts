import { describe, expect, it } from 'vitest'
import type { Event } from './protocol.js'
import { openScene, saying, shownAfter } from './scene.js'

type Interrupt = { readonly id: string; readonly [field: string]: unknown }

const interruptOf = (events: readonly Event[]): Interrupt => {
  const { outcome } = events.at(-1) as unknown as { outcome: { interrupts: Interrupt[] } }
  const [interrupt] = outcome.interrupts
  if (!interrupt) throw new Error('expected an interrupt')
  return interrupt
}

/** Opens a scene whose agent has asked a question. */
async function openQuestion() {
  const scene = await openScene()
  const asked = await scene.run('asking', saying('Pay'))
  const { id } = interruptOf(asked)
  const resuming = (status: string, payload?: unknown, more: object = {}) =>
    saying('Pay', { runId: 'r-2', resume: [{ interruptId: id, status, payload }], ...more })
  return { ...scene, asked, id, resuming }
}

describe('a question of an agent', () => {
  it('is an interrupt', async () => {
    const { asked, messagesOf } = await openQuestion()
    const [message] = await messagesOf('asking')
    const [input] = message?.inputs ?? []
    expect(asked.at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'interrupt', interrupts: [{ id: input?.id }] },
    })
    expect(interruptOf(asked)).toEqual({
      id: input?.id,
      reason: 'input_required',
      message: 'Pay?',
      responseSchema: { type: 'string', enum: ['yes', 'no'] },
      expiresAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      metadata: { messageId: message?.id },
    })
  })

  it('has its schema, or that of a text', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } } }
    const { run } = await openScene({
      form: ({ ask }) => ask('How many?', { schema }).then(String),
      plain: ({ ask }) => ask('Why?').then(String),
    })
    expect(interruptOf(await run('form', saying('x')))['responseSchema']).toEqual(schema)
    const asked = await run('plain', saying('x'))
    expect(interruptOf(asked)['responseSchema']).toEqual({ type: 'string' })
  })

  it('is answered by a run that begins with the messages', async () => {
    const { resuming, run } = await openQuestion()
    const events = await run('asking', resuming('resolved', 'yes'))
    expect(events.slice(0, 2)).toMatchObject([
      { type: 'RUN_STARTED', runId: 'r-2' },
      { type: 'MESSAGES_SNAPSHOT', messages: [{ id: 'm of Pay', role: 'user', content: 'Pay' }] },
    ])
    expect(shownAfter(events)).toEqual([
      ['user', 'Pay'],
      ['assistant', 'Void text.You said yes.'],
    ])
    // A client repeats a run after a lost connection.
    const again = await run('asking', resuming('resolved', 'yes', { messages: [] }))
    expect(shownAfter(again)).toEqual(shownAfter(events))
  })

  it('stays open after an answer that does not match', async () => {
    const { id, refusalOf, resuming, run } = await openQuestion()
    expect(await refusalOf('asking', resuming('resolved', 'maybe'))).toMatchObject([
      400,
      { code: 'BAD_REQUEST', issues: [{ path: 'resume.0.payload' }] },
    ])
    const connected = await run('asking/connect', { threadId: 't-1', runId: 'r-3' })
    expect(interruptOf(connected).id).toBe(id)
    expect(shownAfter(connected)).toEqual([['user', 'Pay']])
  })

  it('is withdrawn', async () => {
    const { messagesOf, refusalOf, resuming, run } = await openQuestion()
    for (const _ of ['first', 'repeated']) {
      const events = await run('asking', resuming('cancelled'))
      expect(events.at(-1)).toMatchObject({ outcome: { type: 'cancelled' } })
    }
    const [message] = await messagesOf('asking')
    expect(message?.state).toMatchObject({ kind: 'failed', error: { code: 'INPUT_WITHDRAWN' } })
    const late = await refusalOf('asking', resuming('resolved', 'yes'))
    expect(late).toMatchObject([409, { code: 'CONFLICT' }])
  })

  it('can be left behind when its deadline is over', async () => {
    const { clock, run } = await openScene({
      short: ({ ask }) => ask('Pay?', { expiresInMs: 60_000 }).then(String),
    })
    const { id: interruptId } = interruptOf(await run('short', saying('Pay')))
    await clock.advance(120_000)
    const resume = [{ interruptId, status: 'cancelled' }]
    const events = await run('short', saying('Pay', { runId: 'r-2', resume }))
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'cancelled' } })
  })

  it('is cancelled by a caller that cannot withdraw', async () => {
    const { id, projectId, run, resuming, service } = await openQuestion()
    expect(id).not.toBe('')
    const { token } = await service.sessionTokens.create({ projectId, sessions: { ids: ['t-1'] } })
    const events = await run('asking', resuming('cancelled'), token)
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'cancelled' } })
  })

  it('is not answered beside a new message', async () => {
    const { refusalOf, resuming, messagesOf } = await openQuestion()
    const messages = [
      { id: 'm of Pay', role: 'user', content: 'Pay' },
      { id: 'm-2', role: 'user', content: 'Wait' },
    ]
    const refused = await refusalOf('asking', resuming('resolved', 'yes', { messages }))
    expect(refused).toMatchObject([400, { issues: [{ path: 'messages.1' }] }])
    expect(await messagesOf('asking')).toMatchObject([{ state: { kind: 'input_required' } }])
  })
})
