import type { Part, Task } from '@a2a-js/sdk'
import { describe, expect, it } from 'vitest'
import { asking, BINDINGS, openScene } from './scene.js'

const url = 'https://files.example/a.png'
const none = { metadata: undefined, filename: '', mediaType: '' }
const file: Part = { ...none, content: { $case: 'url', value: url }, mediaType: 'image/png' }
const named: Part = { ...file, mediaType: '', filename: 'a.bin' }
const data: Part = { ...none, content: { $case: 'data', value: { total: 7 } } }
const order: Part = { ...data, metadata: { name: 'order', id: 'o-1' } }
const bytes: Part = {
  ...none,
  content: { $case: 'raw', value: Buffer.from('a') },
  mediaType: 'image/png',
}

/** A request with these parts after its text, or with these alone. */
function sending(
  parts: readonly Part[],
  { text = 'Hi', ...more }: { readonly text?: string } & Parameters<typeof asking>[1] = {},
) {
  const request = asking(text, more)
  const all = request.message?.parts
  if (text === '') all?.pop()
  all?.push(...parts)
  return request
}

describe.each(BINDINGS)('the parts of a message over %s', (binding) => {
  it('reach the agent as parts, and come back in the history of the task', async () => {
    const { clientOf, runtime } = await openScene()
    const client = await clientOf('slow', binding)
    const configuration = { returnImmediately: true }
    const sent = sending([file, named, data, order], { configuration })
    const { id } = (await client.sendMessage(sent)) as Task
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    expect(runtime.requests[0]).toMatchObject({
      message: 'Hi',
      parts: [
        { type: 'file', url, mediaType: 'image/png' },
        { type: 'file', url, mediaType: 'application/octet-stream', filename: 'a.bin' },
        { type: 'data', name: 'data', data: { total: 7 } },
        { type: 'data', name: 'order', id: 'o-1', data: { total: 7 } },
      ],
    })
    const { history } = await client.getTask({ tenant: '', id })
    expect(history[0]?.parts).toMatchObject([
      { content: { $case: 'text', value: 'Hi' } },
      { content: { $case: 'url', value: url }, mediaType: 'image/png' },
      { content: { $case: 'url', value: url }, filename: 'a.bin' },
      { content: { $case: 'data', value: { total: 7 } }, metadata: { name: 'data' } },
      { content: { $case: 'data' }, metadata: { name: 'order', id: 'o-1' } },
    ])
  })

  it('are part of a repeated message', async () => {
    const { clientOf, messagesOf } = await openScene()
    const client = await clientOf('echo', binding)
    const messageId = '0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d'
    const send = (part: Part) => client.sendMessage(sending([part], { messageId }))
    const first = (await send(order)) as Task
    expect(((await send(order)) as Task).id).toBe(first.id)
    await expect(send(file)).rejects.toThrow('already used with a different message')
    expect(await messagesOf('echo')).toHaveLength(1)
  })

  it.each([
    [[bytes], 'message.parts[1] is a file with bytes. Send its URL'],
    [[{ ...none, content: undefined }], 'message.parts[1] has no content'],
    [
      [{ ...file, content: { $case: 'url', value: 'data:,a' } }],
      'message.parts[1].url must be an http: or https: URL of at most 8192 characters',
    ],
    [Array.from({ length: 21 }, () => data), 'parts must be a list of at most 20 parts'],
  ] as const)('%# are refused before anything is stored', async (parts, message) => {
    const { clientOf, messagesOf } = await openScene()
    const client = await clientOf('echo', binding)
    await expect(client.sendMessage(sending(parts))).rejects.toThrow(message)
    expect(await messagesOf('echo')).toEqual([])
  })

  it('need a text, and an agent that takes them', async () => {
    const { agentWith, clientOf, messagesOf } = await openScene()
    const client = await clientOf('echo', binding)
    const alone = client.sendMessage(sending([data], { text: '' }))
    await expect(alone).rejects.toThrow('message.parts must have a text')
    await agentWith('picky', { runtime: { kind: 'picky' } })
    const picky = await clientOf('picky', binding)
    await expect(picky.sendMessage(sending([data, file]))).rejects.toMatchObject({
      reason: 'CONTENT_TYPE_NOT_SUPPORTED',
      message: expect.stringContaining('message.parts[2] is too large') as string,
    })
    expect(await messagesOf('picky')).toEqual([])
  })

  it('answer a question with a schema by their data', async () => {
    const { clientOf, runtime } = await openScene()
    const client = await clientOf('slow', binding)
    const sent = client.sendMessage(asking('Pay'))
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    const schema = { type: 'object', required: ['total'] }
    runtime.ask(runtime.openRuns[0] ?? '', { question: 'How much?', schema })
    const { id: taskId } = (await sent) as Task
    const answer = (parts: readonly Part[], text = '') =>
      client.sendMessage(sending(parts, { text, taskId }))
    for (const [parts, text] of [[[data], 'Hi'], [[file]], [[data, data]]] as const)
      await expect(answer(parts, text)).rejects.toThrow('one part with data')
    const answered = answer([data])
    await expect.poll(() => runtime.openRuns).toHaveLength(1)
    expect(runtime.requests.at(-1)).toMatchObject({ inputs: [{ value: { total: 7 } }] })
    runtime.answer(taskId, 'Paid')
    await answered
  })
})
