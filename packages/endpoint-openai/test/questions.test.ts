import { describe, expect, it } from 'vitest'
import { response } from './open-responses.js'
import { openScene } from './scene.js'

const QUESTION = 'Pay?\n- yes\n- no'
const messages = [{ role: 'user' as const, content: 'Order it' }]

/** Opens a scene. `answer` answers the question of the only message. */
async function openQuestion() {
  const scene = await openScene()
  const answer = async (value: string) => {
    const [message] = await scene.messagesOf('asking')
    if (!message) throw new Error('expected a message')
    const { projectId, agentId: agent, id: messageId, inputs } = message
    const inputId = inputs?.[0]?.id ?? ''
    const input = { projectId, agent, messageId, inputId, value }
    return await scene.service.inputs.answer(input)
  }
  return { ...scene, answer }
}

describe('a question of an agent', () => {
  it('makes a response incomplete until a person has answered', async () => {
    const { answer, client } = await openQuestion()
    const asked = await client.responses.create({ model: 'asking', input: 'Order it' })
    response.parse(asked)
    expect(asked).toMatchObject({
      status: 'incomplete',
      output_text: QUESTION,
      incomplete_details: {
        reason: 'input_required',
        input: { question: 'Pay?', options: ['yes', 'no'] },
      },
    })
    await answer('yes')
    const read = async () => (await client.responses.retrieve(asked.id)).output_text
    await expect.poll(read).toBe('Paid: "yes"')
    expect((await client.responses.retrieve(asked.id)).incomplete_details).toBeNull()
  })

  it('ends a stream, and a later stream has the answer', async () => {
    const { answer, client } = await openQuestion()
    const stream = client.responses.stream({ model: 'asking', input: 'Order it' })
    const types: string[] = []
    for await (const event of stream) types.push(event.type)
    expect(types.at(-1)).toBe('response.incomplete')
    const { id, output, output_text: text, status } = await stream.finalResponse()
    expect([status, text]).toEqual(['incomplete', QUESTION])
    const { output: read } = await client.responses.retrieve(id)
    expect(read.map(({ id: itemId }) => itemId)).toEqual(output.map(({ id: itemId }) => itemId))
    await answer('no')
    const later = await client.responses.retrieve(id, { stream: true })
    let last = ''
    for await (const { type } of later) last = type
    expect(last).toBe('response.completed')
  })

  it('is the text of a chat completion, and the same request gets the answer later', async () => {
    const { answer, client, messagesOf } = await openQuestion()
    const send = async () => {
      const options = { headers: { 'Idempotency-Key': 'k-1' } }
      const body = { model: 'asking', messages }
      return (await client.chat.completions.create(body, options)).choices[0]?.message.content
    }
    const [text] = [await send()]
    const [message] = await messagesOf('asking')
    expect(text).toBe(
      `${QUESTION}\n\nAnswer with POST /v1/agents/${message?.agentId}/messages/${message?.id}` +
        `/input and {"inputId":"${message?.inputs?.[0]?.id}","value":…}`,
    )
    await answer('yes')
    expect(await send()).toBe('Paid: "yes"')
  })

  it('is streamed as a chat completion too', async () => {
    const { client } = await openQuestion()
    const stream = client.chat.completions.stream({ model: 'asking', messages })
    expect(await stream.finalContent()).toContain(QUESTION)
  })
})
