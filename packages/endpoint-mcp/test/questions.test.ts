import { describe, expect, it } from 'vitest'
import { callTool, ERAS, openScene, type User } from './scene.js'

const ORDER = { agent: 'asking', message: 'Order it' }
const idOf = (input: unknown): string => (input as { readonly id: string }).id

describe('a question, for a client that shows forms', () => {
  it('is asked in the call, and the answer of the agent is its result', async () => {
    const { clientOf, messagesOf } = await openScene()
    const asked: string[] = []
    const user: User = (message) => {
      asked.push(message)
      return { value: 'yes' }
    }
    const client = await clientOf('modern', { user })
    const { output } = await callTool(client, 'send_message', ORDER)
    expect(output).toMatchObject({ state: 'responded', response: 'Paid: "yes"' })
    expect(asked).toEqual(['Pay?'])
    const stored = await messagesOf('asking')
    expect(stored.map(({ inputs }) => inputs?.map(({ answer }) => answer?.value))).toEqual([
      ['yes'],
    ])
  })

  it('is asked again after an answer that does not fit', async () => {
    const { clientOf } = await openScene()
    const asked: string[] = []
    const user: User = (message) => {
      asked.push(message)
      return { value: asked.length === 1 ? 'perhaps' : 'no' }
    }
    const client = await clientOf('modern', { user })
    const { output } = await callTool(client, 'send_message', ORDER)
    expect(output).toMatchObject({ response: 'Paid: "no"' })
    expect(asked).toEqual(['Pay?', 'Pay?\n\nThe last answer must be one of "yes", "no".'])
  })

  it.each(['decline', 'cancel'] as const)('stays open after %s', async (action) => {
    const { clientOf, messagesOf } = await openScene()
    const client = await clientOf('modern', { user: () => action })
    const { isError, output, texts } = await callTool(client, 'send_message', ORDER)
    expect([isError, output]).toEqual([false, expect.objectContaining({ state: 'input_required' })])
    expect(texts[1]).toContain('The question stays open')
    expect((await messagesOf('asking')).map(({ state }) => state.kind)).toEqual(['input_required'])
  })

  it('is asked by get_message too', async () => {
    const { clientOf } = await openScene()
    const sent = await callTool(await clientOf('modern'), 'send_message', ORDER)
    const client = await clientOf('modern', { user: () => ({ value: 'yes' }) })
    const ref = { agent: 'asking', messageId: sent.output?.['messageId'] }
    const { output } = await callTool(client, 'get_message', ref)
    expect(output).toMatchObject({ response: 'Paid: "yes"' })
  })

  it('with a schema is a form with its fields', async () => {
    const { clientOf, runtime } = await openScene()
    const user: User = () => ({ amount: 3, note: 'quick', gift: true })
    const client = await clientOf('modern', { user })
    const sending = callTool(client, 'send_message', { agent: 'slow', message: 'Order it' })
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    const [messageId = ''] = runtime.openRuns
    const properties = {
      amount: { type: 'integer' },
      note: { type: 'string' },
      gift: { type: 'boolean' },
      size: { enum: ['S', 'L'] },
    }
    const schema = { type: 'object', properties, required: ['amount'] }
    runtime.ask(messageId, { question: 'How many?', schema })
    await expect.poll(() => runtime.requests.length).toBe(2)
    expect(runtime.requests[1]?.inputs?.map(({ value }) => value)).toEqual([
      { amount: 3, note: 'quick', gift: true },
    ])
    runtime.answer(messageId, 'Done')
    expect((await sending).output).toMatchObject({ response: 'Done' })
  })
})

describe.each(ERAS)('a question, for a %s client without forms', (era) => {
  it('is the result, and answer_input answers it', async () => {
    const { clientOf } = await openScene()
    const client = await clientOf(era)
    const { isError, output } = await callTool(client, 'send_message', ORDER)
    expect(isError).toBe(false)
    expect(output).toMatchObject({
      state: 'input_required',
      input: { question: 'Pay?', options: ['yes', 'no'] },
    })
    expect(JSON.stringify(output)).not.toContain('link')
    const inputId = idOf(output?.['input'])
    const ref = { agent: 'asking', messageId: output?.['messageId'], inputId }
    const wrong = await callTool(client, 'answer_input', { ...ref, value: 'perhaps' })
    expect(wrong.texts[0]).toBe('invalid: value must be one of "yes", "no"')
    const answered = await callTool(client, 'answer_input', { ...ref, value: 'yes' })
    expect(answered.output).toMatchObject({ state: 'responded', response: 'Paid: "yes"' })
    const again = await callTool(client, 'answer_input', { ...ref, value: 'yes' })
    expect(again.output).toEqual(answered.output)
    const other = await callTool(client, 'answer_input', { ...ref, value: 'no' })
    expect(other.texts[0]).toMatch(/^input_closed: /)
  })
})

it('a question for the principal of the message is answered by this principal only', async () => {
  const { clientOf, runtime } = await openScene()
  const client = await clientOf('modern')
  const input = { agent: 'slow', message: 'Order it', endUserId: 'u-1' }
  const sending = callTool(client, 'send_message', input)
  await expect.poll(() => runtime.openRuns).toHaveLength(1)
  const [messageId = ''] = runtime.openRuns
  runtime.ask(messageId, { question: 'Sure?', answerBy: 'execution_principal' })
  const inputId = idOf((await sending).output?.['input'])
  const answer = { agent: 'slow', messageId, inputId, value: 'yes', wait: false }
  const refused = await callTool(client, 'answer_input', answer)
  expect(refused.texts[0]).toMatch(/^input_restricted: /)
  const taken = await callTool(client, 'answer_input', { ...answer, endUserId: 'u-1' })
  expect(taken.isError).toBe(false)
})
