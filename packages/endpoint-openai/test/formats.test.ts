import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { errorOf } from './error-of.js'
import { openScene } from './scene.js'

const Total = z.object({ total: z.number(), notes: z.array(z.string()) })
const answer = '{"total":7,"notes":["paid"]}'
const messages = [{ role: 'user' as const, content: answer }]

describe('the format of an answer', () => {
  it('is a schema that the agent gets and the answer of a response matches', async () => {
    const { client, messagesOf } = await openScene()
    const format = zodTextFormat(Total, 'total')
    const response = await client.responses.parse({
      model: 'echo',
      input: answer,
      text: { format },
    })
    expect(response.output_parsed).toEqual({ total: 7, notes: ['paid'] })
    expect(response.text?.format).toMatchObject({ type: 'json_schema', schema: format.schema })
    expect(await messagesOf('echo')).toMatchObject([{ responseSchema: format.schema }])
    const read = await client.responses.retrieve(response.id)
    expect(read.text?.format).toEqual(response.text?.format)
  })

  it('is a schema that the answer of a chat completion matches', async () => {
    const { client, messagesOf } = await openScene()
    const format = zodResponseFormat(Total, 'total')
    const completion = await client.chat.completions.parse({
      model: 'echo',
      messages,
      response_format: format,
    })
    expect(completion.choices[0]?.message.parsed).toEqual({ total: 7, notes: ['paid'] })
    expect(await messagesOf('echo')).toMatchObject([
      { responseSchema: format.json_schema.schema as object },
    ])
  })

  it('is any object for json_object, and text for text', async () => {
    const { client, messagesOf } = await openScene()
    for (const type of ['json_object', 'text'] as const) {
      const sent = { model: 'echo', messages, response_format: { type } }
      const completion = await client.chat.completions.create(sent)
      expect(completion.choices[0]?.message.content).toBe(answer)
      const response = await client.responses.create({
        model: 'echo',
        input: answer,
        text: { format: { type } },
      })
      expect(response.output_text).toBe(answer)
    }
    const schemas = (await messagesOf('echo')).map(({ responseSchema }) => responseSchema)
    const object = { type: 'object' }
    expect(schemas).toEqual(expect.arrayContaining([object, object, undefined, undefined]))
  })

  it('fails an answer that does not match', async () => {
    const { client } = await openScene()
    const format = zodTextFormat(Total, 'total')
    const response = await client.responses.create({
      model: 'echo',
      input: 'seven',
      text: { format },
    })
    expect(response).toMatchObject({ status: 'failed', error: { code: 'RESPONSE_INVALID' } })
    const json = { model: 'echo', response_format: { type: 'json_object' as const } }
    const failing = client.chat.completions.create({
      ...json,
      messages: [{ role: 'user', content: '[]' }],
    })
    expect(await errorOf(failing)).toMatchObject({ status: 422, code: 'RESPONSE_INVALID' })
  })

  it('is refused with its field if the service cannot check it', async () => {
    const { client, messagesOf } = await openScene()
    const format = zodTextFormat(z.object({ code: z.string().regex(/^a+$/) }), 'code')
    const sending = client.responses.create({ model: 'echo', input: 'a', text: { format } })
    expect(await errorOf(sending)).toMatchObject({ status: 400, param: 'text.format' })
    const chat = { model: 'echo', messages, response_format: zodResponseFormat(Total, 'total') }
    chat.response_format.json_schema.schema = { $ref: '#' }
    expect(await errorOf(client.chat.completions.create(chat))).toMatchObject({
      status: 400,
      param: 'response_format',
    })
    expect(await messagesOf('echo')).toEqual([])
  })
})
