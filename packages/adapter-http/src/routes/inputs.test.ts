import { describe, expect, it } from 'vitest'
import { aMessage, openScene, UNKNOWN_ID } from '../../test/scene.js'

const QUESTION = {
  question: 'Pay 1,200 EUR?',
  options: ['yes', 'no'],
  answerBy: 'execution_principal',
} as const
const USER = { type: 'end_user', endUserId: 'u1' }

/** A message whose agent has asked a question. */
async function openAsked() {
  const scene = await openScene()
  const agent = await scene.createSlowAgent()
  const sending = scene.ask('POST', `/v1/agents/${agent.id}/messages`, {
    body: aMessage({ executionPrincipal: USER }),
  })
  await scene.clock.until(() => scene.runtime.openRuns.length === 1)
  scene.runtime.ask(scene.runtime.openRuns[0] ?? '', QUESTION)
  const sent = await sending
  const path = sent.headers.get('location') ?? ''
  const { json: message } = await scene.ask('GET', path)
  const answer = (value: unknown, more: object = {}) =>
    scene.ask('POST', `${path}/input`, {
      body: { inputId: message.input.id, value, executionPrincipal: USER, ...more },
    })
  return { ...scene, agent, sent, path, message, answer }
}

describe('a question', () => {
  it('ends the wait of its sender with a 202, and GET shows it', async () => {
    const { sent, message } = await openAsked()
    expect([sent.status, sent.json]).toEqual([
      202,
      { messageId: message.messageId, status: 'pending' },
    ])
    const { id, askedAt } = message.input
    const question = { question: 'Pay 1,200 EUR?', options: ['yes', 'no'] }
    const shown = { id, ...question, answerBy: 'execution_principal', askedAt }
    expect(message).toMatchObject({
      status: 'pending',
      state: 'input_required',
      input: { ...shown, expiresAt: expect.any(String) },
      inputs: [shown],
    })
  })

  it('is in the list of open questions until it is answered', async () => {
    const { ask, message, answer, otherKey } = await openAsked()
    const list = async (query = '', key?: string) =>
      (await ask('GET', `/v1/inputs${query}`, key === undefined ? {} : { key })).json.data
    expect(await list()).toEqual([message])
    expect(await list('?endUserId=u1')).toEqual([message])
    expect(await list('?endUserId=u2')).toEqual([])
    expect(await list(`?sessionId=${message.sessionId}`)).toEqual([message])
    expect(await list('?sessionId=other')).toEqual([])
    expect((await ask('GET', `/v1/inputs?cursor=${UNKNOWN_ID}`)).status).toBe(400)
    expect(await list('', otherKey)).toEqual([])
    await answer('yes')
    expect(await list()).toEqual([])
  })
})

describe('POST …/messages/:messageId/input', () => {
  it('answers the question once, and the next run gets the answer', async () => {
    const { ask, answer, path, runtime, clock } = await openAsked()
    const answered = await answer('yes')
    expect([answered.status, answered.json]).toMatchObject([
      200,
      { state: 'queued', inputs: [{ answer: { value: 'yes', executionPrincipal: USER } }] },
    ])
    expect((await answer('yes')).status).toBe(200)
    const log = (await ask('GET', '/v1/audit-log?actor=key&action=input.answered')).json.data
    expect(log).toMatchObject([{ targetId: path.split('/').at(-1) }])
    const other = await answer('no')
    expect([other.status, other.json.error.code]).toEqual([409, 'CONFLICT'])
    await clock.until(() => runtime.openRuns.length === 1)
    expect(runtime.requests.at(-1)?.inputs).toMatchObject([{ value: 'yes' }])
    runtime.answer(runtime.openRuns[0] ?? '', 'paid')
    await clock.advance(0)
    const { json } = await ask('GET', path)
    expect(json).toMatchObject({ state: 'responded', response: 'paid' })
    expect(json).not.toHaveProperty('input')
  })

  it('refuses a wrong answer, principal, question and body', async () => {
    const { answer, ask, path, message } = await openAsked()
    const wrong = await answer('perhaps')
    expect([wrong.status, wrong.json.error.issues]).toEqual([
      400,
      [{ path: 'value', message: 'must be one of "yes", "no"' }],
    ])
    const stranger = await answer('yes', { executionPrincipal: { type: 'service' } })
    expect([stranger.status, stranger.json.error.code]).toEqual([403, 'FORBIDDEN'])
    const bad = await answer('yes', { executionPrincipal: { type: 'end_user' } })
    expect(bad.status).toBe(400)
    expect((await answer('yes', { inputId: UNKNOWN_ID })).status).toBe(404)
    expect((await answer('yes', { inputId: 'x' })).status).toBe(400)
    const missing = await ask('POST', `${path}/input`, {
      body: { inputId: message.input.id, executionPrincipal: USER },
    })
    expect([missing.status, missing.json.error.issues]).toEqual([
      400,
      [{ path: 'value', message: 'is required' }],
    ])
  })

  it('answers 404 in another project and 403 without the permission', async () => {
    const { ask, path, message, otherKey, keyWith } = await openAsked()
    const body = { inputId: message.input.id, value: 'yes' }
    const { key: weak } = await keyWith(['project:agents'])
    for (const [at, sent] of [
      [`${path}/input`, body],
      [`${path}/input/withdraw`, { inputId: body.inputId }],
    ] as const) {
      expect((await ask('POST', at, { key: otherKey, body: sent })).status).toBe(404)
      expect((await ask('POST', at, { key: weak, body: sent })).status).toBe(403)
    }
    expect((await ask('GET', '/v1/inputs', { key: weak })).status).toBe(403)
  })
})

describe('POST …/messages/:messageId/input/withdraw', () => {
  it('fails the message, and gives the same answer again', async () => {
    const { ask, path, message, answer } = await openAsked()
    const withdraw = (inputId = message.input.id) =>
      ask('POST', `${path}/input/withdraw`, { body: { inputId } })
    expect((await withdraw(UNKNOWN_ID)).status).toBe(404)
    const withdrawn = await withdraw()
    expect([withdrawn.status, withdrawn.json]).toMatchObject([
      200,
      { state: 'failed', error: { code: 'INPUT_WITHDRAWN' } },
    ])
    expect((await withdraw()).json).toEqual(withdrawn.json)
    const log = (await ask('GET', '/v1/audit-log?action=input.withdrawn')).json.data
    expect(log).toMatchObject([{ actor: { kind: 'key' }, targetId: path.split('/').at(-1) }])
    expect((await answer('yes')).status).toBe(409)
  })
})
