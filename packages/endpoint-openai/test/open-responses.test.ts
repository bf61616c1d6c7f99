import { describe, expect, it } from 'vitest'
import { response, streamEvent } from './open-responses.js'
import { openScene } from './scene.js'

const user = (content: unknown) => ({ type: 'message', role: 'user', content })
const weather = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { location: { type: 'string' } } },
}
const withPart = (part: object) => [user([{ type: 'input_text', text: 'What is this?' }, part])]
const DATA = 'data:;base64,AA=='

/** Opens a scene. `send` posts a body to `/responses`. */
async function openCases() {
  const { app, key } = await openScene()
  return {
    send: async (body: object) =>
      app.request('/openai/v1/responses', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'echo', ...body }),
      }),
  }
}

describe('the cases of Open Responses that pass', () => {
  it.each([
    ['basic-response', [user('Say hello.')]],
    ['system-prompt', [{ type: 'message', role: 'system', content: 'Be brief.' }, user('Hi')]],
    [
      'multi-turn',
      [
        user('My name is Alice.'),
        { type: 'message', role: 'assistant', content: 'Hello Alice!' },
        user('What is my name?'),
      ],
    ],
  ])('%s', async (_, input) => {
    const { send } = await openCases()
    const body = response.parse(await (await send({ input })).json())
    expect([body.status, body.output.length]).toEqual(['completed', 1])
  })

  it('previous-response-id', async () => {
    const { send } = await openCases()
    const first = response.parse(await (await send({ input: 'Remember: papaya.' })).json())
    const answer = await send({ input: 'Which word?', previous_response_id: first.id })
    const second = response.parse(await answer.json())
    expect([second.status, second.previous_response_id]).toEqual(['completed', first.id])
  })

  it('streaming-response', async () => {
    const { send } = await openCases()
    const answer = await send({ input: [user('Count from 1 to 5.')], stream: true })
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    const blocks = (await answer.text()).trimEnd().split('\n\n')
    expect(blocks.pop()).toBe('data: [DONE]')
    const events = blocks.map((block) => {
      const [, name, data = ''] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? []
      const event = streamEvent.parse(JSON.parse(data))
      expect(event.type).toBe(name)
      return event
    })
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ])
  })
})

describe('the cases of Open Responses that are refused', () => {
  it.each([
    ['tool-calling', { input: [user('Weather?')], tools: [weather] }, 'tools'],
    ['tool-calling-streaming', { input: 'Weather?', tools: [weather], stream: true }, 'tools'],
    [
      'function-call-roundtrip',
      { input: [user('Weather?'), { type: 'function_call_output', call_id: 'c', output: '21' }] },
      'input[1].type',
    ],
    [
      'image-input',
      { input: withPart({ type: 'input_image', image_url: DATA }) },
      'input[0].content[1].type',
    ],
    [
      'file-input',
      { input: withPart({ type: 'input_file', filename: 'f.pdf', file_data: DATA }) },
      'input[0].content[1].type',
    ],
    ['file-search', { input: 'Search', tools: [{ type: 'file_search' }] }, 'tools'],
    ['offline-web-search', { input: 'Search', tools: [{ type: 'web_search' }] }, 'tools'],
  ])('%s', async (_, body, param) => {
    const { send } = await openCases()
    const answer = await send(body)
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error', code: 'unsupported_parameter', param } },
    ])
  })
})
